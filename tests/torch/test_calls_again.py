"""Calls whose like was seen before: the third gives what PyTorch's gives, and so does what comes after it."""

from __future__ import annotations

import numpy as np
import pytest
import torch as theirs

from functorch_core import torch as ours

MAKE = {
    "full": lambda lib: lib.full((2, 3), 2.5),
    "full of a size": lambda lib: lib.full((2,), 7),
    "full of zero": lambda lib: lib.full((2, 3), 0),
    "full of minus zero": lambda lib: lib.full((2,), -0.0).signbit(),
    "full of one": lambda lib: lib.full((2, 3), 1.0),
    "full of truth": lambda lib: lib.full((2,), True),
    "full in a dtype": lambda lib: lib.full((2,), 3, dtype=lib.float64),
    "full without dimensions": lambda lib: lib.full((), 3.5),
    "full_like": lambda lib: lib.full_like(lib.zeros(2, 3), 2.5),
    "full_like of integers": lambda lib: lib.full_like(lib.zeros(2, dtype=lib.int64), 2.5),
    "full_like transposed": lambda lib: lib.full_like(lib.zeros(2, 3).t(), 2.5),
    "full_like of one": lambda lib: lib.full_like(lib.zeros(2), 1.0),
    "new_zeros": lambda lib: lib.ones(2, dtype=lib.float64).new_zeros(2, 3),
    "gather": lambda lib: lib.arange(6.0).view(2, 3).gather(-1, lib.tensor([[0], [2]])),
    "where": lambda lib: lib.where(lib.tensor([True, False]), lib.ones(2), lib.zeros(2)),
    "clamp": lambda lib: lib.arange(4.0).clamp(1, 2),
    "expand": lambda lib: lib.ones(2, 1).expand(3, 2, 4),
    "view": lambda lib: lib.arange(6).view(2, 3),
    "view of a tuple": lambda lib: lib.arange(6).view((3, 2)),
    "view with a name": lambda lib: lib.arange(6).reshape(shape=(3, 2)),
    "T": lambda lib: lib.arange(6).view(2, 3).T,
    "mT": lambda lib: lib.arange(6).view(1, 2, 3).mT,
    "contiguous": lambda lib: lib.arange(6).view(2, 3).t().contiguous(),
    "contiguous in a format": lambda lib: lib.ones(1, 2, 2, 2).contiguous(memory_format=lib.channels_last),
    "shape": lambda lib: lib.tensor([*lib.zeros(2, 3).shape]),
    "len": lambda lib: lib.tensor(len(lib.zeros(2, 3))),
    "copy_": lambda lib: lib.zeros(2, 3).copy_(lib.arange(6.0).view(2, 3)),
    "copy_ of another dtype": lambda lib: lib.zeros(2).copy_(lib.arange(2)),
    "copy_ broadcast": lambda lib: lib.zeros(2, 3).copy_(lib.arange(3.0)),
    "copy_ of a transposed": lambda lib: lib.zeros(3, 2).copy_(lib.arange(6.0).view(2, 3).t()),
    "copy_ to a part": lambda lib: lib.zeros(4)[1:3].copy_(lib.ones(2)),
    "add_": lambda lib: lib.ones(5).add_(lib.ones(5)),
    "add_ of a number": lambda lib: lib.ones(2).add_(2),
    "add_ with alpha": lambda lib: lib.ones(5).add_(lib.ones(5), alpha=3),
    "add_ of itself": lambda lib: (lambda x: x.add_(x))(lib.ones(5)),
    "addcmul_": lambda lib: lib.ones(2).addcmul_(lib.ones(2), lib.arange(2.0)),
    "tanh_": lambda lib: lib.ones(2).tanh_(),
    "zero_": lambda lib: lib.ones(2).zero_(),
}


@pytest.mark.parametrize("name", MAKE)
def test_the_third_is_as_the_first(name):
    wanted = MAKE[name](theirs)
    for _ in range(4):
        found = MAKE[name](ours)
        assert (
            str(found.dtype) == str(wanted.dtype) and found.shape == wanted.shape and found.stride() == wanted.stride()
        )
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


REFUSED = {
    "view": lambda lib, x: x.view(5),
    "view of a truth": lambda lib, x: x.view(True),
    "transpose": lambda lib, x: x.transpose(0, 5),
    "tanh": lambda lib, x: x.tanh(1),
    "sum": lambda lib, x: x.sum(axis=7),
    "add_": lambda lib, x: x.add_(lib.ones(7)),
    "add_ of its part": lambda lib, x: x.add_(x[:1]),
    "add_ nothing": lambda lib, x: x.add_(),
    "copy_": lambda lib, x: x.copy_(lib.ones(7)),
    "len": lambda lib, x: len(x.sum()),
    "no argument": lambda lib, x: lib.tanh(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_stays_refused(name):
    for lib in (theirs, ours):
        x = lib.arange(6.0).view(2, 3)
        for op in (lambda x: x.view(6), lambda x: x.transpose(0, 1), lambda x: x.tanh(), lambda x: x.sum(1)):
            op(x), op(x)
        x.add_(x), x.add_(x)
        for _ in range(2):
            with pytest.raises((TypeError, RuntimeError, IndexError)):
                REFUSED[name](lib, x)


def test_a_copied_tensor_is_its_own():
    for lib in (theirs, ours):
        for _ in range(3):
            x, y = lib.zeros(2), lib.ones(2)
            shown = x.detach()
            x.copy_(y)
            assert shown.tolist() == [1, 1]
            y.add_(1)
            x.mul_(3)
            assert (x.tolist(), y.tolist(), shown.tolist()) == ([3, 3], [2, 2], [3, 3])


def test_copies_and_the_tape():
    for lib in (theirs, ours):
        for _ in range(3):
            w = lib.ones(2, requires_grad=True)
            x = lib.zeros(2)
            x.copy_(w)  # on the tape
            assert x.requires_grad
            (x * x).sum().backward()
            assert w.grad.tolist() == [2, 2]
            with lib.no_grad():
                v = lib.zeros(2, requires_grad=True)
                v.copy_(w)
                assert v.requires_grad and v.is_leaf and v.tolist() == [1, 1]
            saved = lib.ones(2)
            y = (w * saved).sum()
            saved.copy_(lib.zeros(2))
            with pytest.raises(RuntimeError, match="modified by an inplace"):
                y.backward()
            with pytest.raises(RuntimeError, match="leaf"):
                w.copy_(lib.zeros(2))


def test_empty_tensors_show_that_they_are_read_while_that_is_asked():
    for lib in (theirs, ours):
        for _ in range(3):
            lib.empty(2, 3), lib.empty_like(lib.ones(2, 3)), lib.ones(2).new_empty(2, 3)
        lib.use_deterministic_algorithms(True)
        try:
            for _ in range(3):
                made = lib.empty(2, 3), lib.empty_like(lib.ones(2, 3)), lib.ones(2).new_empty(2, 3)
                assert all(bool(x.isnan().all()) for x in made)
        finally:
            lib.use_deterministic_algorithms(False)


def test_the_line_of_each_call_is_its_own():
    """The recording remembers the code of the call before: another function's calls have lines of their own."""
    from functorch_core.engine.sources import line_of

    def other(x):
        return x + 1

    x = ours.ones(3)
    for _ in range(3):
        y = x * 2
        z = other(y)
        w = z - 1
    recording = w._value.recording
    lines = [line_of(recording.sources[i : i + 2]) for i in range(0, len(recording.sources), 2)][-3:]
    assert ["in other" in line for line in lines] == [False, True, False]
    assert all(__file__ in line for line in lines) and len(set(lines)) == 3
