"""How far two arrays or numbers are apart, and how the error says so."""

from __future__ import annotations

import numpy as np

from ...dispatch.members.elements import item_by_item
from ...tensors.base import Tensor
from ...tensors.promotion import promote_dtypes
from ...tensors.types import dtype

TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def default_tolerances(*inputs: Tensor | dtype, dtype_precisions=None) -> tuple[float, float]:
    """The greatest (rtol, atol) of the inputs' dtypes."""
    dtypes = [x.dtype if isinstance(x, Tensor) else x for x in inputs]
    if dtype_precisions is None:
        pairs = [TOLERANCES.get(d.name, (0.0, 0.0)) for d in dtypes]
    else:
        pairs = [dtype_precisions.get(d, (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in pairs), max(a for _, a in pairs)


def scalar_mismatch(actual, expected, rtol: float, atol: float) -> str:
    """The message for two numbers."""
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else float("inf")
    if rtol == atol == 0:
        return (
            f"Scalars are not equal!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}\nRelative difference: {relative}"
        )
    return (
        f"Scalars are not close!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference} (up to {atol} allowed)\n"
        f"Relative difference: {relative} (up to {rtol} allowed)"
    )


def tensor_mismatch(actual: Tensor, expected: Tensor, rtol: float, atol: float, equal_nan: bool, what: str = ""):
    """The message for two tensors of a shape; None if they are close. `what` they are: 'Sparse COO values'."""
    close = is_close(_wide(actual), _wide(expected), rtol, atol, equal_nan)
    if close.all():
        return None
    return _mismatch(*_common(actual, expected), ~close, rtol, atol, what)


def _common(actual: Tensor, expected: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Both in the dtype that differences are shown in: int64, or the wider of the two."""
    a, e = actual.detach()._array(), expected.detach()._array()
    dtype = promote_dtypes(a.dtype, e.dtype)
    dtype = np.dtype(np.int64) if dtype.kind in "biu" else dtype
    return a.astype(dtype), e.astype(dtype)


def _wide(tensor: Tensor) -> np.ndarray:
    """The elements in a type that holds them exactly."""
    array = tensor.detach()._array() if tensor._device is None else item_by_item(tensor)
    if tensor.dtype.is_floating_point:
        return array.astype(np.float64)
    return array.astype(np.complex128) if tensor.dtype.is_complex else array


def is_close(a: np.ndarray, e: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    """Where two arrays are."""
    if a.dtype.kind in "biu" and e.dtype.kind in "biu" and rtol == atol == 0:
        return a == e
    with np.errstate(invalid="ignore", over="ignore"):
        return np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _mismatch(a: np.ndarray, e: np.ndarray, wrong: np.ndarray, rtol: float, atol: float, what: str) -> str:
    with np.errstate(all="ignore"):
        absolute = np.abs(a - e)
        # PyTorch divides integers as float32.
        relative = (
            absolute.astype(np.float32) / np.abs(e).astype(np.float32) if a.dtype.kind == "i" else absolute / np.abs(e)
        )
    exact = rtol == atol == 0
    count, total = int(wrong.sum()), wrong.size
    parts = [f"{what or ('Tensor-likes' if wrong.ndim else 'Scalars')} are not {'equal' if exact else 'close'}!\n"]
    if not wrong.ndim:
        parts.append(f"Expected {e.item()} but got {a.item()}.")
    else:
        parts.append(f"Mismatched elements: {count} / {total} ({count / total:.1%})")
    for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        parts.append(_greatest(name, values, wrong, None if exact else allowed))
    return "\n".join(parts)


def _greatest(name: str, values: np.ndarray, wrong: np.ndarray, allowed) -> str:
    within = "" if allowed is None else f" (up to {allowed} allowed)"
    if not wrong.ndim:
        return f"{name.capitalize()} difference: {values.item()}{within}"
    candidates = np.where(wrong, values, values.dtype.type(-1))
    nan = candidates != candidates
    at = int(nan.argmax() if nan.any() else candidates.argmax())
    index = tuple(int(i) for i in np.unravel_index(at, wrong.shape))
    return f"Greatest {name} difference: {candidates.flat[at].item()} at index {index}{within}"
