"""Operators and their gradients of arrays so large that other ways take over (products for sums, oneDNN, pieces), in
several orders in memory: dtypes, shapes and numbers are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import torch as ours

reference = pytest.importorskip("torch")

SHAPES = [(2048, 3), (3, 2048), (8, 64, 12, 16), (16, 8, 20, 20)]


def transposed(lib, array, i, j):
    return lib.tensor(np.ascontiguousarray(array.swapaxes(i, j))).transpose(i, j)


LAYOUTS = {
    "contiguous": lambda lib, a: lib.tensor(a),
    "last dimensions exchanged": lambda lib, a: transposed(lib, a, -1, -2),
    "first dimensions exchanged": lambda lib, a: transposed(lib, a, 0, 1),
    "strided": lambda lib, a: lib.tensor(np.repeat(a, 2, -1))[..., ::2],
    "channels last": lambda lib, a: lib.tensor(np.ascontiguousarray(np.moveaxis(a, 1, -1))).movedim(-1, 1),
}

OPS = {
    "sum": lambda t, x: x.sum(),
    "sum of columns": lambda t, x: x.sum(0),
    "sum of rows": lambda t, x: x.sum(-1),
    "sum of ends": lambda t, x: x.sum((0, -1)),
    "mean": lambda t, x: x.mean(0),
    "var": lambda t, x: x.var(0),
    "std": lambda t, x: x.std(-1),
    "prod": lambda t, x: (x * 0.5 + 0.8).prod(-1),
    "amax": lambda t, x: x.amax(0),
    "max": lambda t, x: x.max(-1).values,
    "norm": lambda t, x: x.norm(dim=-1),
    "logsumexp": lambda t, x: x.logsumexp(0),
    "softmax of columns": lambda t, x: t.softmax(x, 0),
    "softmax": lambda t, x: t.softmax(x, -1),
    "log_softmax": lambda t, x: t.log_softmax(x, -1),
    "cumsum of columns": lambda t, x: x.cumsum(0),
    "cumsum": lambda t, x: x.cumsum(-1),
    "cumprod": lambda t, x: (x * 0.1 + 1).cumprod(-1),
    "logcumsumexp": lambda t, x: x.logcumsumexp(-1),
    "sort": lambda t, x: x.sort(-1).values,
    "sort of columns": lambda t, x: x.sort(0).values,
    "topk": lambda t, x: x.topk(2, -1).values,
    "median": lambda t, x: x.median(-1).values,
    "kthvalue": lambda t, x: x.kthvalue(2, -1).values,
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, x.shape[-1:]),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "relu": lambda t, x: x.relu(),
    "tanh": lambda t, x: x.tanh(),
    "exp": lambda t, x: x.exp(),
    "pow": lambda t, x: x.abs() ** 1.5,
    "where": lambda t, x: t.where(x > 0, x, x * 2),
    "plus a column": lambda t, x: x + x[..., :1],
    "times a mean": lambda t, x: x * x.mean(-1, keepdim=True),
    "flip": lambda t, x: x.flip(0),
    "roll": lambda t, x: x.roll(1, -1),
    "cat": lambda t, x: t.cat([x, x * 2], 0),
    "cat of rows": lambda t, x: t.cat([x, x * 2], -1),
    "stack": lambda t, x: t.stack([x, x], 1),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 2)),
    "product": lambda t, x: x.flatten(0, -2) @ x.flatten(0, -2).transpose(0, 1)[:, :5],
    "einsum": lambda t, x: t.einsum("i...,i...->...", x, x),
    "attention": lambda t, x: t.softmax(x[:64] @ x[:64].transpose(-1, -2) / 8, -1) @ x[:64],
    "rows": lambda t, x: x[t.arange(0, x.shape[0], 2)],
    "gather": lambda t, x: x.gather(0, (x > 0).long()),
    "masked_fill": lambda t, x: x.masked_fill(x > 0.3, 0.0),
    "diff": lambda t, x: x.diff(dim=0),
    "unfold": lambda t, x: x.unfold(-1, 2, 1),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.zeros(x.shape[:1] + x.shape[2:], dtype=t.long)),
    "sum of bfloat16": lambda t, x: x.bfloat16().sum(0),
    "mean of float16": lambda t, x: x.half().mean(-1),
    "sum of integers": lambda t, x: (x * 10).int().sum(0),
    "sum of float64": lambda t, x: x.double().sum(0),
    "sum of complex numbers": lambda t, x: (x + 1j * x).sum(0).abs(),
    "argmax": lambda t, x: x.argmax(-1),
    "any": lambda t, x: (x > 2).any(0),
}
IMAGES = {
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "conv2d": lambda t, x: t.nn.functional.conv2d(x, x[:4, :, :3, :3]),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x, 3, 1, 1),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 2),
    "instance_norm": lambda t, x: t.nn.functional.instance_norm(x),
    "interpolate": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
}


def results(lib, fun, made, array) -> list[np.ndarray]:
    """What an operator gives, and the gradient of a weighted sum of it."""
    x = made(lib, array).detach().requires_grad_()
    y = fun(lib, x)
    found = [y.detach().float() if y.is_floating_point() and y.element_size() < 4 else y.detach()]
    assert str(found[0].dtype).endswith(str(found[0].numpy().dtype))
    if y.is_floating_point():
        weights = np.cos(np.arange(y.numel(), dtype=np.float64)).reshape(tuple(y.shape))
        found += lib.autograd.grad((y * lib.tensor(weights).to(y.dtype)).sum(), x)
    return [z.numpy() for z in found]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Where others keep the cores busy, PyTorch's threads wait for each other for minutes."""
    before = reference.get_num_threads()
    reference.set_num_threads(1)
    yield
    reference.set_num_threads(before)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_same_as_pytorch(layout, shape):
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for name, fun in {**OPS, **(IMAGES if len(shape) == 4 else {})}.items():
        found, expected = [results(lib, fun, LAYOUTS[layout], array) for lib in (ours, reference)]
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, name
            tolerance = 2e-2 if "float16" in name else 1e-3
            np.testing.assert_allclose(
                mine, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max(), err_msg=name
            )
