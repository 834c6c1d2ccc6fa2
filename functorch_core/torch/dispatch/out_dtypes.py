"""What dtypes `out=` may have, and what is said of those it may not have."""

from __future__ import annotations

from ...core import dtypes as dt
from ..tensors import types as _types
from ..tensors.types import scalar_name
from .traits import CANNOT_CAST, Out

ANY = Out()
# C++'s names of dtypes, which some messages have.
C_NAMES = {
    "bfloat16": "c10::BFloat16",
    "bool": "bool",
    "complex128": "c10::complex<double>",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "int8": "signed char",
    "uint8": "unsigned char",
}


def decided(taken: Out, out, given):
    """The dtype= of a call with `out`."""
    return given if given is not None or out._aval.dtype not in taken.decides else out.dtype


def check(name: str, taken: Out, found, wanted, part: int = 0, is_number: bool = False):
    """RuntimeError (of cat: TypeError) if `out` of dtype `wanted` cannot take a result of dtype `found`, the
    `part`-th of several."""
    if taken.kernel and wanted not in taken.kernel[1]:
        raise NotImplementedError(f"\"{taken.kernel[0]}\" not implemented for '{scalar_name(wanted)}'")
    if found == wanted or wanted in taken.also:
        return
    message = taken.dtype[part] if isinstance(taken.dtype, tuple) else taken.dtype
    if is_number and taken.of_number:
        message = taken.of_number
    if dt.category(found) > dt.category(wanted):
        message = taken.lower or message or CANNOT_CAST
    if message is None:
        return
    c_found, c_wanted = (C_NAMES.get(_types.of_numpy(d).name, str(d)) for d in (found, wanted))
    raise taken.error(
        message.format(
            op=name,
            found=scalar_name(found),
            wanted=scalar_name(wanted),
            c_found=c_found,
            c_wanted=c_wanted,
            int32=found == dt.int32,
        )
    )
