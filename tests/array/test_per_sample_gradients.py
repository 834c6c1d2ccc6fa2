"""The example of research code: its parts against NumPy by hand, and the script itself."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import functorch_core as fc

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "per_sample_gradients.py"


@pytest.fixture(scope="module")
def example():
    names = runpy.run_path(str(SCRIPT))
    (x, y), _ = names["digits"]()
    return names, names["init"](fc.random.key(1), 4), x[:20], y[:20]


def gradients_by_hand(params, x, y):
    """The gradient of the cross-entropy for each sample, by the chain rule in NumPy."""
    w1, b1, w2, b2 = (np.asarray(params[k], np.float64) for k in ("w1", "b1", "w2", "b2"))
    hidden = np.tanh(x @ w1 + b1)
    logits = hidden @ w2 + b2
    p = np.exp(logits - logits.max(1, keepdims=True))
    d = p / p.sum(1, keepdims=True) - np.eye(10)[y]
    back = d @ w2.T * (1 - hidden**2)
    return {"w1": np.einsum("ni,nj->nij", x, back), "b1": back, "w2": np.einsum("ni,nj->nij", hidden, d), "b2": d}


def test_gradients_of_each_sample(example):
    names, params, x, y = example
    found = names["per_sample_gradients"](params, x, y)
    wanted = gradients_by_hand(params, np.asarray(x, np.float64), np.asarray(y))
    for key in wanted:
        np.testing.assert_allclose(np.asarray(found[key]), wanted[key], rtol=1e-4, atol=1e-6)
    norms = np.sqrt(sum((g.reshape(20, -1) ** 2).sum(1) for g in wanted.values()))
    np.testing.assert_allclose(np.asarray(names["norms"](found)), norms, rtol=1e-5)


def test_a_private_step_clips_each_sample(example):
    names, params, x, y = example
    clip = 0.5
    new = names["private_step"](params, x, y, fc.random.key(0), 1.0, clip, 0.0)
    grads = gradients_by_hand(params, np.asarray(x, np.float64), np.asarray(y))
    norms = np.sqrt(sum((g.reshape(20, -1) ** 2).sum(1) for g in grads.values()))
    scale = np.minimum(clip / norms, 1)
    for key, g in grads.items():
        wanted = np.asarray(params[key]) - np.tensordot(scale, g, 1) / 20
        np.testing.assert_allclose(np.asarray(new[key]), wanted, rtol=1e-4, atol=1e-6)


def test_hessian_vector_products_and_the_largest_eigenvalue(example):
    names, params, x, y = example
    x64, labels = np.asarray(x, np.float64), np.asarray(y)
    flat, structure = fc.tree.flatten(params)
    shapes = [p.shape for p in flat]
    point = np.concatenate([np.asarray(p, np.float64).ravel() for p in flat])

    def gradient(v):
        parts = np.split(v, np.cumsum([np.prod(s) for s in shapes])[:-1])
        tree = structure.unflatten([p.reshape(s) for p, s in zip(parts, shapes)])
        grads = gradients_by_hand(tree, x64, labels)
        return np.concatenate([g.mean(0).ravel() for g in fc.tree.leaves(grads)])

    eye = np.eye(len(point)) * 1e-5
    hessian = np.stack([(gradient(point + e) - gradient(point - e)) / 2e-5 for e in eye])

    vector = np.random.default_rng(0).standard_normal(len(point)).astype(np.float32)
    parts = np.split(vector, np.cumsum([np.prod(s) for s in shapes])[:-1])
    tree = structure.unflatten([fc.asarray(p.reshape(s)) for p, s in zip(parts, shapes)])
    product = names["hessian_vector_product"](params, tree, x, y)
    found = np.concatenate([np.asarray(p).ravel() for p in fc.tree.leaves(product)])
    np.testing.assert_allclose(found, hessian @ vector, rtol=1e-3, atol=1e-4)

    value, _ = names["largest_eigenvalue"](params, x, y, fc.random.key(0), 200)
    values = np.linalg.eigvalsh(hessian)
    np.testing.assert_allclose(value.item(), values[np.abs(values).argmax()], rtol=1e-2)


def test_the_script():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--steps", "40", "--width", "16"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert float(re.fullmatch(r"test accuracy: (0\.\d+)", last)[1]) > 0.8
