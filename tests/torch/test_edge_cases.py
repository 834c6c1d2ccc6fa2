"""Edges that PyTorch's own test files look at: values, strides and errors as PyTorch's."""

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")

CASES = {
    "resize to channels last": lambda t: t.arange(24.0).resize_((1, 2, 3, 4), memory_format=t.channels_last).stride(),
    "grow to channels last": lambda t: t.arange(2.0).resize_((1, 2, 3, 4), memory_format=t.channels_last).stride(),
    "grown elements": lambda t: t.arange(2.0).resize_((1, 2, 1, 2), memory_format=t.channels_last)[0, :, 0, 0].tolist(),
    "resize to five dimensions": lambda t: (
        t.arange(48.0).resize_((2, 2, 3, 2, 2), memory_format=t.channels_last_3d).flatten().tolist()
    ),
    "resize as, with the order": lambda t: (
        t.arange(24.0)
        .resize_as_(t.ones(1, 2, 3, 4).to(memory_format=t.channels_last), memory_format=t.preserve_format)
        .stride()
    ),
    "resize as": lambda t: t.arange(24.0).resize_as_(t.ones(1, 2, 3, 4).to(memory_format=t.channels_last)).stride(),
    "bytes overflow": lambda t: t.empty((), dtype=t.float64).resize_([2, 4, 2**29, 2**29]),
    "elements overflow": lambda t: t.empty((), dtype=t.float64).resize_([8, 8, 2**29, 2**29]),
    "strides overflow": lambda t: t.empty((), dtype=t.float64).resize_([0, 4, 2305843009213693952]),
    "a number float32 does not have": lambda t: t.full((2,), -1e39),
    "a number float16 does not have": lambda t: t.full((2,), 65519, dtype=t.float16),
    "filled with a number float32 does not have": lambda t: t.ones(2).fill_(1e300),
    "filled with infinity": lambda t: (t.ones(2).fill_(-float("inf")).tolist(), t.full((1,), float("inf")).tolist()),
    "split at floats": lambda t: t.tensor_split(t.ones(10), t.tensor([1.5])),
    "split at int32": lambda t: t.tensor_split(t.ones(10), t.tensor(5, dtype=t.int32)),
    "split at a matrix": lambda t: t.tensor_split(t.ones(10), t.tensor([[5]])),
    "delete an item": lambda t: exec("del x[0]", {"x": t.ones(3)}),
    "shapes before dtypes": lambda t: t.arange(4).__setitem__(t.arange(4) > -1, t.tensor([1.0, 2, 3])),
    "dtypes": lambda t: t.arange(4).__setitem__(t.arange(4) > -1, t.tensor([1.0, 2, 3, 4])),
    "all and any over no dimension": lambda t: [
        f(x, dim=(), keepdim=k).tolist()
        for f in (t.all, t.any)
        for k in (False, True)
        for x in (t.tensor([[2, 0], [1, 1]]), t.tensor([2, 0], dtype=t.uint8), t.zeros(2, 0))
    ],
    "block_diag of nothing": lambda t: t.block_diag().shape,
    "cartesian_prod of a list": lambda t: t.cartesian_prod(t.tensor([1]), [2]),
    "the default storage": lambda t: t.Storage.__name__,
    "complex numbers without dimensions as others": lambda t: (
        t.tensor(1 + 2j).view(t.float64).shape,
        t.tensor(1 + 2j).view(t.int64).item(),
        t.tensor(1.0, dtype=t.float64).view(t.complex64).shape,
    ),
    "other dtypes of the same memory have no derivative": lambda t: [
        (lambda x: (x.view(t.int32).requires_grad, x.view(t.complex64).requires_grad, x.view(t.float32).requires_grad))(
            t.ones(4, requires_grad=True)
        ),
        t.ones(4, dtype=t.float16, requires_grad=True).view(t.float32).requires_grad,
    ],
    "written through another dtype": lambda t: (x := t.zeros(2), x.view(t.int32).fill_(1065353216), x.tolist())[2],
    "tensors with gaps": lambda t: [
        (t.manual_seed(0), t.testing.make_tensor((2, 2), dtype=d, device="cpu", noncontiguous=True).tolist())[1]
        for d in (t.float32, t.complex64, t.int64, t.bool)
    ],
    "a complex tensor is a base": lambda t: (
        x := t.testing.make_tensor((2, 2), dtype=t.complex64, device="cpu"),
        x._base,
        x[0]._base is x,
    )[1:],
    "copies of views": lambda t: [
        (c := t.view_copy(t.arange(16.0).reshape(4, 4).t(), (2, 8))).is_contiguous(),
        c.tolist(),
        t.view_copy(t.ones(2, requires_grad=True), (1, 2)).grad_fn.name(),
        t.view_copy(t.ones(2), t.int32).tolist(),
        t.view_copy(t.ones(2), dtype=t.int32).tolist(),
        t.ops.aten.slice_copy(t.ones(4, 4, 4, 4).to(memory_format=t.channels_last), 0, 0, 2).is_contiguous(),
    ],
    "products of lists": lambda t: [
        x.tolist() for x in t._foreach_mm([t.ones(2, 3), t.ones(1, 1)], [t.ones(3, 1)] + [t.ones(1, 2)])
    ],
    "a sparse tensor of three dimensions": lambda t: t.ones(2, 2, 2).to_sparse().t(),
    "numbers of a dtype": lambda t: (
        t.manual_seed(0),
        t.testing.make_tensor((9,), dtype=t.uint8, device="cpu", low=-9, high=9).tolist(),
        t.testing.make_tensor((9,), dtype=t.int8, device="cpu", low=-500, high=500).tolist(),
    )[1:],
}


def said(t, program) -> str:
    """What a program returns, or its error."""
    try:
        return repr(program(t))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0].strip()}"


@pytest.mark.parametrize("name", CASES)
def test_is_pytorchs(name):
    assert said(torch, CASES[name]) == said(reference, CASES[name])


def test_index_put_needs_an_index():
    """PyTorch's errors here are of its insides."""
    for t in (torch, reference):
        with pytest.raises(RuntimeError):
            t.ones(3).index_put([], t.tensor(1.0))


def test_prod_takes_one_dimension():
    for t in (torch, reference):
        with pytest.raises(TypeError, match=r"prod\(\)"):
            t.prod(t.ones(2, 3), dim=(0, 1))
