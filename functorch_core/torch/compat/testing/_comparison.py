"""torch.testing.assert_close."""

from __future__ import annotations

import collections.abc
from typing import NoReturn

import numpy as np

from ....core.warn import warn
from ... import as_tensor
from ...tensors.base import Tensor
from ...tensors.promotion import promote_dtypes

TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
BOOLS = (bool, np.bool_)
NUMBERS = (int, float, complex, np.number)
BOTH_TOLERANCES = "Both 'rtol' and 'atol' must be either specified or unspecified, but got no {missing} and {found}."


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Takes tensors, numbers and what torch.as_tensor takes, in sequences and mappings of any depth.
    Tolerances come from the dtypes if they are not given.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        missing, found = ("rtol", f"atol={atol}") if rtol is None else ("atol", f"rtol={rtol}")
        raise ValueError(BOTH_TOLERANCES.format(missing=missing, found=found))
    options = {
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "msg": msg,
        "allow_subclasses": allow_subclasses,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_stride": check_stride,
    }
    _compare(actual, expected, (), options)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Deprecated: assert_close without checks of dtype and device."""
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed "
        "in a future release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
    )
    if rtol is None and atol is None:
        pairs = [TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected) if isinstance(x, Tensor)] or [
            (1.3e-6, 1e-5)
        ]
        rtol, atol = (max(column) for column in zip(*pairs))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )


# ---- structures ----------------------------------------------------------------------------------


def _fail(text: str, path: tuple, options: dict, kind=AssertionError) -> NoReturn:
    where = "".join(f"[{p!r}]" for p in path)
    text = f"{text}\n\nThe failure occurred for item {where}" if path else text
    msg = options["msg"]
    raise kind(text if msg is None else msg(text) if callable(msg) else msg)


def _is_sequence(x) -> bool:
    return isinstance(x, collections.abc.Sequence) and not isinstance(x, str)


def _compare(actual, expected, path: tuple, options: dict):
    if _is_sequence(actual) and _is_sequence(expected):
        _compare_sequences(actual, expected, path, options)
    elif isinstance(actual, collections.abc.Mapping) and isinstance(expected, collections.abc.Mapping):
        _compare_mappings(actual, expected, path, options)
    elif actual is None or expected is None:
        if actual is not expected:
            _fail(f"None mismatch: {actual} is not {expected}", path, options)
    elif isinstance(actual, BOOLS + NUMBERS) and isinstance(expected, BOOLS + NUMBERS):
        _compare_numbers(_python_number(actual), _python_number(expected), path, options)
    else:
        if not (isinstance(actual, type(expected)) or isinstance(expected, type(actual))):
            _unsupported(actual, expected, path, options)
        _compare_tensors(
            _as_tensor(actual, expected, path, options), _as_tensor(expected, actual, path, options), path, options
        )


def _python_number(x):
    return x.item() if isinstance(x, np.generic) else x


def _as_tensor(x, other, path, options) -> Tensor:
    if not options["allow_subclasses"] and type(x) is not type(other):
        _unsupported(x, other, path, options)
    if isinstance(x, Tensor):
        return x
    try:
        return as_tensor(x)
    except Exception:
        _unsupported(x, other, path, options)


def _unsupported(x, other, path, options) -> NoReturn:
    _fail(
        f"No comparison pair was able to handle inputs of type {type(x)} and {type(other)}.", path, options, TypeError
    )


def _compare_sequences(actual, expected, path, options):
    if len(actual) != len(expected):
        _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path, options)
    for i, (a, e) in enumerate(zip(actual, expected)):
        _compare(a, e, (*path, i), options)


def _compare_mappings(actual, expected, path, options):
    if set(actual) != set(expected):
        missing, extra = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
        _fail(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {extra}",
            path,
            options,
        )
    for key in actual:
        _compare(actual[key], expected[key], (*path, key), options)


# ---- numbers -------------------------------------------------------------------------------------


def _compare_numbers(actual, expected, path, options):
    names = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    if options["check_dtype"] and type(actual) is not type(expected):
        _fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path, options)
    rtol, atol = _tolerances([names[type(actual)], names[type(expected)]], options)
    a, e = np.asarray(actual), np.asarray(expected)
    if bool(_close(a, e, rtol, atol, options["equal_nan"])):
        return
    if type(actual) is bool or type(expected) is bool:
        _fail(f"Booleans mismatch: {actual} is not {expected}", path, options)
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else float("inf")
    if rtol == atol == 0:
        _fail(
            f"Scalars are not equal!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}\nRelative difference: {relative}",
            path,
            options,
        )
    _fail(
        f"Scalars are not close!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference} (up to {atol} allowed)\n"
        f"Relative difference: {relative} (up to {rtol} allowed)",
        path,
        options,
    )


# ---- tensors -------------------------------------------------------------------------------------


def _tolerances(names: list[str], options: dict) -> tuple[float, float]:
    if options["rtol"] is not None:
        return options["rtol"], options["atol"]
    pairs = [TOLERANCES.get(name, (0.0, 0.0)) for name in names]
    return max(r for r, _ in pairs), max(a for _, a in pairs)


def _compare_tensors(actual: Tensor, expected: Tensor, path, options):
    _check_attributes(actual, expected, path, options)
    rtol, atol = _tolerances([actual.dtype.name, expected.dtype.name], options)
    if actual.is_meta or expected.is_meta:
        return  # PyTorch compares nothing more either
    a, e = _wide(actual), _wide(expected)
    close = _close(a, e, rtol, atol, options["equal_nan"])
    if not close.all():
        _fail(_mismatch(*_common(actual, expected), ~close, rtol, atol), path, options)


def _common(actual: Tensor, expected: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Both in the dtype that differences are shown in: int64, or the wider of the two."""
    a, e = actual.detach()._array(), expected.detach()._array()
    dtype = promote_dtypes(a.dtype, e.dtype)
    dtype = np.dtype(np.int64) if dtype.kind in "biu" else dtype
    return a.astype(dtype), e.astype(dtype)


def _check_attributes(actual: Tensor, expected: Tensor, path, options):
    def check(what: str, a, e):
        if a != e:
            _fail(f"The values for attribute '{what}' do not match: {a} != {e}.", path, options)

    check("shape", actual.shape, expected.shape)
    if options["check_device"]:
        check("device", actual.device, expected.device)
    if options["check_dtype"]:
        check("dtype", actual.dtype, expected.dtype)
    if options["check_stride"]:
        check("stride()", actual.stride(), expected.stride())


def _wide(tensor: Tensor) -> np.ndarray:
    """The elements in a type that holds them exactly."""
    array = tensor.detach()._array()
    if tensor.dtype.is_floating_point:
        return array.astype(np.float64)
    return array.astype(np.complex128) if tensor.dtype.is_complex else array


def _close(a: np.ndarray, e: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    if a.dtype.kind in "biu" and e.dtype.kind in "biu" and rtol == atol == 0:
        return a == e
    with np.errstate(invalid="ignore", over="ignore"):
        return np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _mismatch(a: np.ndarray, e: np.ndarray, wrong: np.ndarray, rtol: float, atol: float) -> str:
    with np.errstate(all="ignore"):
        absolute = np.abs(a - e)
        # PyTorch divides integers as float32.
        relative = (
            absolute.astype(np.float32) / np.abs(e).astype(np.float32) if a.dtype.kind == "i" else absolute / np.abs(e)
        )
    exact = rtol == atol == 0
    count, total = int(wrong.sum()), wrong.size
    parts = [f"{'Tensor-likes' if wrong.ndim else 'Scalars'} are not {'equal' if exact else 'close'}!\n"]
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
