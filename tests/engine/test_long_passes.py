"""Recordings and backward passes: where they are cut."""

import numpy as np

from functorch_core import engine, torch


def deep(x, n):
    for _ in range(n):
        x = (x * 1.01).sin()
    return x


def gradient_of_deep(x, n):
    value, slope = np.asarray(x, np.float64), 1.0
    for _ in range(n):
        slope, value = slope * 1.01 * np.cos(value * 1.01), np.sin(value * 1.01)
    return slope


def test_a_long_recording_is_not_cut_within_a_backward_pass():
    leaf = torch.linspace(0.1, 1, 5, requires_grad=True)
    for n in (400, 400, 400):  # 800 results forward, 2,000 in all
        leaf.grad = None
        loss = deep(leaf, n).sum()
        before = engine.stats()
        loss.backward()
        step = leaf - leaf.grad
        engine.flush()
        after = engine.stats()
        assert after["cut_recordings"] == before["cut_recordings"]
        assert after["flushes"] - before["flushes"] == 1
        np.testing.assert_allclose(step.detach(), leaf.detach() - leaf.grad)
        np.testing.assert_allclose(leaf.grad, gradient_of_deep(leaf.detach(), n), rtol=1e-4)


def test_a_backward_pass_is_cut_where_it_is_very_long():
    leaf = torch.linspace(0.1, 1, 5, requires_grad=True)
    loss = deep(leaf, 500).sum()
    for _ in range(6):  # each part of the sum goes on where the one before it ends
        loss = deep(loss, 500).sum()
    before = engine.stats()["cut_recordings"]
    loss.backward()
    assert engine.stats()["cut_recordings"] > before
    assert np.isfinite(leaf.grad).all()


def test_short_passes_that_nobody_looks_at_are_cut_as_before():
    leaf = torch.linspace(0.1, 1, 5, requires_grad=True)
    longest = 0
    for _ in range(300):
        deep(leaf, 3).sum().backward()
        recording = leaf.grad._value.recording
        longest = max(longest, 0 if recording is None else len(recording.values))
    assert 100 < longest < 1100
    np.testing.assert_allclose(leaf.grad, 300 * gradient_of_deep(leaf.detach(), 3), rtol=1e-4)
