"""torch.utils.cpp_extension: there is no C++ interface to compile extensions against."""

import shutil

from ..._missing import missing as _missing

_WHY = "there is no C++ interface; write custom ops with torch.autograd.Function"
_NAMES = (
    "BuildExtension CUDAExtension CppExtension SyclExtension load load_inline include_paths "
    "get_compiler_abi_compatibility_and_version verify_ninja_availability"
).split()
CUDA_HOME = ROCM_HOME = None
for _name in _NAMES:
    globals()[_name] = _missing(f"torch.utils.cpp_extension.{_name}", _WHY)


def is_ninja_available() -> bool:
    """Whether the program ninja is there.

    >>> from torch.utils.cpp_extension import is_ninja_available
    >>> isinstance(is_ninja_available(), bool)
    True
    """
    return shutil.which("ninja") is not None
