"""Comparing ours with the reference: the same call on the same arrays, values and dtypes alike."""

from __future__ import annotations

import numpy as np

from functorch_core import torch

TOLERANCE = {
    "float32": 2e-6,
    "float64": 1e-12,
    "complex64": 4e-6,
    "complex128": 1e-12,
    "float16": 2e-3,
    "complex32": 2e-3,
    "bfloat16": 1.6e-2,
}


def pair(array, reference, dtype: str | None = None, grad: bool = False):
    """(our tensor, the reference's) of one array."""
    array = np.asarray(array)
    ours, theirs = torch.from_numpy(array.copy()), reference.from_numpy(array.copy())
    if dtype is not None:
        ours, theirs = ours.to(getattr(torch, dtype)), theirs.to(getattr(reference, dtype))
    if grad:
        ours.requires_grad = theirs.requires_grad = True
    return ours, theirs


def assert_same(ours, theirs, scale: float = 1.0):
    """Equal structure, shape and dtype; values within the dtype's tolerance."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        assert all(hasattr(theirs, name) for name in getattr(ours, "_fields", ()))
        for a, b in zip(ours, theirs):
            assert_same(a, b, scale)
        return
    if not hasattr(theirs, "dtype"):
        assert ours == theirs and type(ours) is type(theirs)
        return
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    theirs = theirs.detach().resolve_conj().resolve_neg()
    name = str(theirs.dtype).split(".")[1]
    if name == "bfloat16":
        ours, theirs = ours.to(torch.float32), theirs.float()
    if name == "complex32":
        ours, theirs = ours.cfloat(), theirs.cfloat()
    a, b = ours.detach().numpy(), theirs.numpy()
    tolerance = TOLERANCE.get(name, 0) * scale
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def assert_same_error(fun, reference, message: bool = True):
    """fun(module) raises the reference's exception, with its message if `message`."""
    raised = []
    for module in (reference, torch):
        try:
            fun(module)
        except Exception as error:  # noqa: BLE001
            raised.append(error)
        else:
            raised.append(None)
    theirs, ours = raised
    assert theirs is not None, "the reference does not raise"
    assert ours is not None, f"ours does not raise {theirs!r}"
    assert isinstance(ours, type(theirs)) or isinstance(theirs, type(ours)), (ours, theirs)
    if message:
        assert str(ours).split("\n")[0][:60] == str(theirs).split("\n")[0][:60]
