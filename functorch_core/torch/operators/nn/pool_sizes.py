"""Sizes of the windows of pooling: as many as there are dimensions, and what PyTorch says of wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

from ..values import aval_of

NUMBERS = ("", "one", "two", "three")
FEW = "an int, list of ints or tuple of ints"
OF_ONE = {"stride": "None, an int, list of ints, or tuple of ints", "padding": "an int, list of ints, or tuple of ints"}


def sizes(name: str, what: str, value, n: int) -> tuple[int, ...]:
    """An int or a sequence as n ints; RuntimeError for another length."""
    if not isinstance(value, (tuple, list)):
        return (int(value),) * n
    if len(value) not in (1, n):
        raise RuntimeError(_wrong_length(name, what, n, len(value)))
    return tuple(map(int, value)) * (n // len(value))


def fractional_sizes(name: str, what: str, value, n: int) -> tuple[int, ...]:
    """An int or n ints; RuntimeError for another length."""
    if isinstance(value, (tuple, list)) and len(value) != n:
        raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {'three ' * (n == 3)}Ints")
    return sizes(name, what, value, n)


def _wrong_length(name: str, what: str, n: int, given: int) -> str:
    if name == "max_pool1d":
        return f"max_pool1d() {what} must be {OF_ONE.get(what, FEW)} of size 1 but got size {given}"
    if n == 1:
        return f"{name}() argument '{what}' should contain one int (got {given})"
    either = "be" if name == "avg_pool3d" else "be either" if what == "dilation" else "either be"
    omitted = "omitted, " if what == "stride" else ""
    return f"{name}: {what} must {either} {omitted}a single int, or a tuple of {NUMBERS[n]} ints"


def check(name: str, x, n: int, kernel: Sequence, stride: Sequence, pad: Sequence, dilation: Sequence, out: Sequence):
    """RuntimeError for sizes that no windows have, or that the input is too small for."""
    if name == "max_pool1d":
        _check_one(kernel[0], stride[0], pad[0], dilation[0])
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for what, letter, values in (("kernel size", "k", kernel), ("stride", "d", stride), ("dilation", None, dilation)):
        if min(values) <= 0:
            named = _named(letter or what, values)
            raise RuntimeError(f"{what} should be greater than zero, but got {named}")
    if any(q < 0 for q in pad):
        raise RuntimeError(f"pad must be non-negative, but got pad: {pad[0]}")
    if any(q > ((k - 1) * d + 1) // 2 for q, k, d in zip(pad, kernel, dilation)):
        raise RuntimeError(
            "pad should be at most half of effective kernel size, but got pad="
            f"{pad[0]}, kernel_size={kernel[0]} and dilation={dilation[0]}"
        )
    shape = aval_of(x).shape
    if len(shape) not in (n + 1, n + 2) or 0 in shape[len(shape) - n - 1 :]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got: {list(shape)}"
        )
    if min(out) < 1:
        raise RuntimeError(_too_small(name, shape[-n - 1 :], kernel, out))


def _check_one(kernel: int, stride: int, pad: int, dilation: int):
    for what, value in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if pad < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {pad}")
    if pad > ((kernel - 1) * dilation + 1) // 2:
        half = "padding should be at most half of kernel size"
        raise RuntimeError(f"max_pool1d() {half}, but got padding={pad} and kernel_size={kernel}")


def _named(letter: str, values: Sequence) -> str:
    """kT: 1 kH: 2 kW: 3."""
    values = (1, *values) if len(values) == 1 else values
    return " ".join([f"{letter}{axis}: {value}" for axis, value in zip("THW"[-len(values) :], values)])


def _too_small(name: str, shape: Sequence, kernel: Sequence, out: Sequence) -> str:
    if name == "max_pool1d":
        return f"max_pool1d() Invalid computed output size: {out[0]}"
    if name == "avg_pool3d":
        return f"input image ({_named('', shape[1:])}) smaller than kernel size ({_named('k', kernel)})"
    between = (1,) if len(out) == 1 else ()
    given, found = ("x".join(map(str, (shape[0], *between, *rest))) for rest in (shape[1:], out))
    return f"Given input size: ({given}). Calculated output size: ({found}). Output size is too small"


__all__ = ["check", "fractional_sizes", "sizes"]
