"""Python's if, while and assert as functions: torch.cond, torch.while_loop, torch._check."""

from __future__ import annotations

import numpy as np

from ..dispatch.devices import resolve
from ..dispatch.op import composite
from ..levels.levels import whole_batch
from ..tensors.base import Tensor, from_array
from ..tensors.types import scalar_name


@composite(method=False)
def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) where pred holds, else false_fn(*operands).

    Ops are traced one by one here, so that it is decided at once, as in eager PyTorch.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.tensor(1),))
    tensor(2)
    """
    if not isinstance(pred, (bool, int, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    return (true_fn if bool(pred) else false_fn)(*operands)


@composite(method=False)
def _assert(condition, message):
    """AssertionError with the message unless the condition holds."""
    assert condition, message


@composite(method=False)
def while_loop(cond_fn, body_fn, carried_inputs):
    """carried = body_fn(*carried) as long as cond_fn(*carried); the last carried, a tuple.

    It is Python's while here, as cond is Python's if.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.tensor(1.)))
    (tensor(3), tensor(8.))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list, but got {type(carried_inputs)}.")
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        carried = body_fn(*carried)
        carried = tuple(carried) if isinstance(carried, (tuple, list)) else (carried,)
    return carried


# ---- checks --------------------------------------------------------------------------------------

UNEXPLAINED = "Expected cond to be True, but got False."

TENSOR_CONDITION = (
    "cond must be a bool, but got a Tensor. For tensor conditions, use "
    "torch._check_tensor_all() to assert that all elements are true."
)


def _check_with(error_type, cond, message=None):
    """error_type(message()) unless the condition, a bool, holds."""
    if isinstance(cond, Tensor):
        raise TypeError(TENSOR_CONDITION)
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(UNEXPLAINED if message is None else str(message()))


composite(method=False)(_check_with)


def _checker(name: str, error_type: type):
    def check(cond, message=None):
        _check_with(error_type, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"{error_type.__name__} with the text message() unless the condition holds."
    return composite(method=False)(check)


_check = _checker("_check", RuntimeError)
_check_index = _checker("_check_index", IndexError)
_check_value = _checker("_check_value", ValueError)
_check_type = _checker("_check_type", TypeError)
_check_not_implemented = _checker("_check_not_implemented", NotImplementedError)


@composite(method=False)
def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless 0 <= i (<= max)."""
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)


@composite(method=False)
def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements of a boolean tensor are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(RuntimeError, bool(cond.all()), message)


@composite(method=False)
def _assert_async(input, assert_msg=None):
    """RuntimeError unless the one element of a tensor is true (or not 0)."""
    if not isinstance(input, Tensor):
        raise TypeError(f"_assert_async(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not input.is_meta and not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


@composite(method=False)
def _assert_tensor_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None):
    """RuntimeError unless a tensor is as it should be, in what is given."""
    found = {"sizes": (size, list(a.shape)), "strides": (stride, list(a.stride()) if stride is not None else None)}
    for what, (expected, its) in found.items():
        if expected is not None and list(expected) != its:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {list(expected)}, Got: {its}")
    if dtype is not None and dtype is not a.dtype:
        names = scalar_name(dtype.numpy), str(a.dtype).removeprefix("torch.").replace("float32", "float")
        raise RuntimeError("Tensor dtype mismatch! Expected: {}, Got: {}".format(*names))
    if device is not None and resolve(device) != a.device:
        raise RuntimeError(f"Tensor device mismatch! Expected: {device}, Got: {a.device}")
    if layout is not None and layout is not a.layout:
        raise RuntimeError(f"Tensor layout mismatch! Expected: {layout}, Got: {a.layout}")


@composite(method=False)
def _is_all_true(input):
    """Whether all elements of a boolean tensor are true, as a tensor; inside vmap those of all examples."""
    return whole_batch(input).all()


@composite(method=False)
def _is_any_true(input):
    """Whether any element of a boolean tensor is true, as a tensor; inside vmap those of all examples."""
    return whole_batch(input).any()


@composite(method=False)
def _shape_as_tensor(input):
    """The shape as an int64 tensor.

    >>> torch._shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return from_array(np.array(input.shape, np.int64))
