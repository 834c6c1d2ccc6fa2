"""In-place forms: compute, check that the result fits, assign."""

from __future__ import annotations

import warnings

from ..core import dtypes as dt
from ._tensor_base import Tensor
from . import _out_dtypes, _types
from ._out_dtypes import CANNOT_CAST
from ._memory_order import with_strides
from ._meta import is_meta
from ._views import assign, check_overlap, check_writable, layout_of

OUT_SHAPE = "output with shape {out} doesn't match the broadcast shape {shape}"

RESIZED = (
    "An output with one or more elements was resized since it had shape {old}, which does not "
    "match the required output shape {new}. This behavior is deprecated, and in a future "
    "PyTorch release outputs will not be resized unless they have zero elements. You can "
    "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
    "t.resize_(0)."
)
_SCALAR_NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
    "float8_e4m3fnuz": "Float8_e4m3fnuz",
    "float8_e5m2fnuz": "Float8_e5m2fnuz",
    "float8_e8m0fnu": "Float8_e8m0fnu",
}


def scalar_name(numpy) -> str:
    """PyTorch's C++ name of a dtype: Float, Long, ..."""
    return _SCALAR_NAMES[_types.of_numpy(numpy).name]


def fitted(tensor: Tensor, result: Tensor) -> Tensor:
    """The result in the tensor's dtype; RuntimeError if category or shape do not allow it."""
    wanted, found = tensor._value.aval, result._value.aval
    if found is wanted and tensor._level is None and result._level is None:
        return result
    if found.dtype != wanted.dtype:
        if dt.category(found.dtype) > dt.category(wanted.dtype):
            raise RuntimeError(CANNOT_CAST.format(found=scalar_name(found.dtype), wanted=scalar_name(wanted.dtype)))
        result = result.to(_types.of_numpy(wanted.dtype))
    if tensor.shape != result.shape:
        raise RuntimeError(OUT_SHAPE.format(out=list(tensor.shape), shape=list(result.shape)))
    return result


def inplace(op, tensor: Tensor, args, kwargs) -> Tensor:
    """tensor.op_(*args): the op's result assigned to the tensor."""
    check_writable(tensor)
    return assign(tensor, fitted(tensor, op(tensor, *args, **kwargs)), checked=True)


def check_outs(name: str, out, result):
    """TypeError unless `out` is a tensor, or as many as the results are."""
    several = not isinstance(result, Tensor)
    if several and isinstance(out, (tuple, list)) and all(isinstance(x, Tensor) for x in out):
        if len(out) == len(result):
            return
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors, not of {len(out)}")
    if several or not isinstance(out, Tensor):
        module = f"{type(out).__module__}." if type(out).__module__ == "numpy" else ""
        wanted = "tuple of Tensors" if several else "Tensor"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {module}{type(out).__name__}")


def write(name: str, out: Tensor, result: Tensor, part: str = "") -> Tensor:
    """out=: the result assigned to `out`, which is resized if its shape differs; `part` is the
    name of this one of several results."""
    from .autograd.modes import state

    if not isinstance(out, Tensor):
        check_outs(name, out, result)
    if state.enabled and (out.requires_grad or result.requires_grad and (name not in _out_dtypes.FOLLOWED)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if is_meta(result) != is_meta(out):
        raise RuntimeError(
            f"Attempting to copy from device {result.device} to device {out.device}, "
            "but cross-device copies are not allowed!"
        )
    found, wanted = result._value.aval, out._value.aval
    if found.dtype != wanted.dtype:
        is_dot = name == "matmul" and not found.ndim
        said = part if part in _out_dtypes.MESSAGES else "dot" if is_dot else name
        _out_dtypes.check(said, found.dtype, wanted.dtype)
        result = result.to(_types.of_numpy(wanted.dtype))
    if out._view is not None and out._view.chain and name not in _out_dtypes.TAKES_OVERLAP:
        check_overlap(out)
    if out.shape != result.shape:
        if out.numel() and name not in _out_dtypes.SILENT:
            warnings.warn(RESIZED.format(old=list(out.shape), new=list(result.shape)), UserWarning, stacklevel=3)
        out.resize_(result.shape)
        if result._view is not None and result._view.is_permuted() and out._view is None:
            with_strides(out, layout_of(result)[1])
    return assign(out, result, captured=True)
