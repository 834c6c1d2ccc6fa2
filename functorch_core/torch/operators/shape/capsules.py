"""DLPack capsules of arrays and arrays of capsules, bfloat16 among them, which NumPy does not exchange."""

from __future__ import annotations

import ctypes

import numpy as np

from ....core import dtypes as dt

UINT, BFLOAT = 1, 4  # DLPack's codes of kinds of numbers
# Where a capsule has the code: behind pointer, device and number of dimensions; the newer kind has 32 bytes first.
CODES = {b"dltensor": 20, b"dltensor_versioned": 52}


class _Capsule:
    """A DLPack capsule as an object with the protocol's methods."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


def array_of_capsule(x) -> np.ndarray:
    """An array in the memory of an object with `__dlpack__`, or of a capsule."""
    capsule = _exported(x) if hasattr(x, "__dlpack__") else x
    if not _recode(capsule, BFLOAT, UINT):
        return np.from_dlpack(_Capsule(capsule))
    return np.from_dlpack(_Capsule(capsule)).view(dt.bfloat16)


def capsule_of(array: np.ndarray, half: bool, max_version=None):
    """A capsule in the memory of an array; `half`: of the bits of bfloat16."""
    capsule = array.__dlpack__(max_version=max_version)
    if half:
        _recode(capsule, UINT, BFLOAT)
    return capsule


def _exported(x):
    """The capsule of an object, of the newer kind if it knows that."""
    try:
        return x.__dlpack__(max_version=(1, 0))
    except TypeError:
        return x.__dlpack__()


def _recode(capsule, old: int, new: int) -> bool:
    """Write a new code of the kind of numbers into a capsule that has the old one; whether it had."""
    pointer_of, name_of = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    if type(capsule).__name__ != "PyCapsule" or name_of(capsule) not in CODES:
        return False
    name = name_of(capsule)
    code = ctypes.c_uint8.from_address(pointer_of(capsule, name) + CODES[name])
    if code.value != old:
        return False
    code.value = new
    return True
