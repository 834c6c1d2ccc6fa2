"""Elements repeated in a row, pictures enlarged by whole factors, and bools counted, as PyTorch has them."""

import numpy as np
import pytest
import torch as reference

from functorch_core import engine, torch


@pytest.fixture(params=["reference", "fused"])
def tier(request):
    before = engine.get_tier()
    engine.set_tier(request.param)
    yield request.param
    engine.set_tier(before)


def result_and_gradient(library, array, fun):
    x = library.tensor(array, requires_grad=array.dtype.kind == "f")
    y = fun(library, x)
    if not x.requires_grad:
        return [y.numpy().copy()]
    weights = library.arange(y.numel(), dtype=y.dtype).reshape(y.shape) % 7
    (gradient,) = library.autograd.grad((y * weights).sum(), x)
    return [y.detach().numpy().copy(), gradient.numpy().copy()]


def check(array, fun):
    found, wanted = (result_and_gradient(library, array, fun) for library in (torch, reference))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("times", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_repeat_interleave(times, dtype, tier):
    array = (np.random.default_rng(0).standard_normal((260, 270)) * 8).round().astype(dtype)
    for dim in (0, 1, -1, None):
        check(array, lambda library, x: x.repeat_interleave(times, dim))
    check(array, lambda library, x: x.t()[::2].repeat_interleave(times, 1))


def test_what_is_repeated_is_a_view_of_a_copy():
    def described(library):
        x = library.ones(3, 4, requires_grad=True)
        y = x.repeat_interleave(2, 1)
        names, node = [], y.grad_fn
        while node is not None:
            names.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        return names, y._is_view(), y.stride()

    found, wanted = described(torch), described(reference)
    assert found[1:] == wanted[1:]
    assert [n.split("::")[-1] for n in found[0]] == [n.split("::")[-1] for n in wanted[0]]


SIZES = [{"scale_factor": 2}, {"scale_factor": (3, 1)}, {"scale_factor": (1.0, 4.0)}, {"size": (34, 60)}]


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("size", [*SIZES, {"size": (40, 31)}, {"scale_factor": 0.5}, {"scale_factor": 2.3}], ids=str)
def test_pictures_enlarged(mode, size, tier):
    array = np.random.default_rng(0).integers(-9, 9, (5, 40, 17, 20)).astype(np.float32)
    array[0, 0, 0, :2] = -0.0, np.inf
    check(array, lambda library, x: library.nn.functional.interpolate(x, **size, mode=mode))


@pytest.mark.parametrize("factor", [2, 3, 7])
def test_lines_and_bodies_enlarged(factor, tier):
    rng = np.random.default_rng(0)
    for shape in ((2, 3, 333), (2, 3, 7, 8, 9)):
        array = rng.integers(-9, 9, shape).astype(np.float32)
        check(array, lambda library, x: library.nn.functional.interpolate(x, scale_factor=factor))


@pytest.mark.parametrize("dtype", [None, "int64", "float32", "int8", "bool"])
def test_bools_counted(dtype, tier):
    array = np.random.default_rng(0).random((70, 300)) < 0.7
    for dim in (None, 0, (0, 1), -1, ()):
        for keepdim in (False, True):
            options = {} if dtype is None else {"dtype": dtype}
            check(array, lambda library, x: library.sum(
                x, dim, keepdim, **{k: getattr(library, v) for k, v in options.items()}))  # fmt: skip
        check(array, lambda library, x: library.count_nonzero(x, dim if dim != () else None))
    check(array[:0], lambda library, x: x.sum(0))
    check(np.array(True), lambda library, x: x.sum())
