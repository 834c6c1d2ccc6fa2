"""Settings of the whole library, and small questions of the torch namespace."""

from __future__ import annotations

import builtins
import importlib
import os

from ... import xla
from ...core.warn import once, warn
from ...names import torch_name
from ...xla import blas
from ..dispatch.op import composite
from ..operators.shape.legacy_types import CudaLegacyType, legacy_type_named
from ..operators.shape.storage import Storage
from ..tensors import types as _types
from ..tensors.active import active
from ..tensors.base import Tensor

__all__ = """are_deterministic_algorithms_enabled compiled_with_cxx11_abi get_default_tensor_type
    get_deterministic_debug_mode get_device_module get_file_path get_float32_matmul_precision
    get_num_interop_threads get_num_threads is_deterministic_algorithms_warn_only_enabled is_storage
    is_tensor is_vulkan_available is_warn_always_enabled set_default_tensor_type
    set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
    set_num_interop_threads set_num_threads set_vital set_warn_always sym_float sym_int sym_ite sym_max
    sym_min sym_not sym_sum typename use_deterministic_algorithms""".split()


class _Settings:
    threads: int | None = None
    interop_threads: int | None = None
    warn_only = False
    deterministic = 0  # 0 off, 1 warn, 2 error
    fills_uninitialized = True
    matmul_precision = "highest"


settings = _Settings()


# ---- threads -------------------------------------------------------------------------------------


def get_num_threads() -> int:
    """How many threads compute.

    >>> torch.get_num_threads() >= 1
    True
    """
    if settings.threads is not None:
        return settings.threads
    return xla.threads_wanted() or int(os.environ.get("NPROC") or len(os.sched_getaffinity(0)))


def set_num_threads(n: int):
    """Ask for a number of threads: NumPy's products take it, XLA if nothing has been computed with it yet.

    >>> torch.set_num_threads(torch.get_num_threads())
    """
    if not isinstance(n, builtins.int) or isinstance(n, builtins.bool):
        raise TypeError(f"set_num_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    settings.threads = n
    blas.set_threads(n)
    if not xla.has_client():
        os.environ["NPROC"] = str(n)


def get_num_interop_threads() -> int:
    """How many threads run independent operations.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return settings.interop_threads or get_num_threads()


def set_num_interop_threads(n: int):
    """Accepted: XLA has one pool of threads.

    >>> torch.set_num_interop_threads(1)
    """
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    settings.interop_threads = n


# ---- determinism and precision -------------------------------------------------------------------


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False):
    """Accepted: XLA's programs for the CPU are deterministic.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {name} must be bool, not {type(value).__name__}"
            )
    set_deterministic_debug_mode((1 if warn_only else 2) if mode else 0)
    settings.warn_only = warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether use_deterministic_algorithms(True) was called.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return settings.deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was called with warn_only.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return settings.warn_only


def get_deterministic_debug_mode() -> int:
    """0 off, 1 warn, 2 error.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return settings.deterministic


def set_deterministic_debug_mode(debug_mode):
    """0 or 'default', 1 or 'warn', 2 or 'error'.

    >>> torch.set_deterministic_debug_mode("warn")
    >>> torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode(0)
    """
    names = {"default": 0, "warn": 1, "error": 2}
    found = names.get(debug_mode, debug_mode)
    if found not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, 2, `default`, `warn`, `error`, but got {debug_mode}"
        )
    settings.deterministic, settings.warn_only = found, found == 1
    active.marks_uninitialized = found > 0 and settings.fills_uninitialized


def get_fill_uninitialized_memory() -> bool:
    """Whether empty tensors are filled while deterministic algorithms are on."""
    return settings.fills_uninitialized


def set_fill_uninitialized_memory(mode: bool):
    """Set whether they are: floating ones with NaN, integers with the largest, bools with True."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    settings.fills_uninitialized = mode
    active.marks_uninitialized = settings.deterministic > 0 and settings.fills_uninitialized


def get_float32_matmul_precision() -> str:
    """'highest', 'high' or 'medium'.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return settings.matmul_precision


def set_float32_matmul_precision(precision: str):
    """Kept: on the CPU products of float32 are computed in float32 in any case.

    >>> torch.set_float32_matmul_precision("high")
    >>> torch.get_float32_matmul_precision()
    'high'
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the precision stays as it is")
        return
    settings.matmul_precision = precision


def set_flush_denormal(mode: bool) -> bool:
    """False: whether denormal numbers are flushed to zero cannot be chosen.

    >>> isinstance(torch.set_flush_denormal(False), bool)
    True
    """
    return False


def set_warn_always(b: bool):
    """Give warnings each time that are given once in a process; Python's filters decide what is shown.

    >>> torch.set_warn_always(True)
    >>> torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    once.always = bool(b)


def is_warn_always_enabled() -> bool:
    """What set_warn_always has set.

    >>> torch.is_warn_always_enabled()
    False
    """
    return once.always


def set_vital(*args):
    """No effect: it is deprecated, and PyTorch's has none.

    >>> torch.set_vital("Dataloader", "enabled", "True")
    """
    warn("'set_vital' is deprecated, please do not call")


# ---- questions -----------------------------------------------------------------------------------


def is_tensor(obj) -> bool:
    """Whether an object is a tensor.

    >>> torch.is_tensor([1])
    False
    """
    return isinstance(obj, Tensor)


def is_storage(obj) -> bool:
    """Whether an object is a storage.

    >>> torch.is_storage(torch.ones(2).untyped_storage()), torch.is_storage(torch.ones(2))
    (True, False)
    """
    return isinstance(obj, Storage)


def _checked(name: str, x) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    return x


@composite(method=False)
def is_floating_point(input):
    """Whether the elements are floating-point numbers.

    >>> torch.is_floating_point(torch.tensor(1))
    False
    """
    return _checked("is_floating_point", input).is_floating_point()


@composite(method=False)
def is_complex(input):
    """Whether the elements are complex numbers.

    >>> torch.is_complex(torch.tensor(1j))
    True
    """
    return _checked("is_complex", input).is_complex()


@composite(method=False)
def is_signed(input):
    """Whether the dtype has negative numbers.

    >>> torch.is_signed(torch.tensor([1, 2], dtype=torch.uint8))
    False
    """
    return _checked("is_signed", input).is_signed()


@composite
def is_nonzero(input):
    """Whether the only element is not zero.

    >>> torch.is_nonzero(torch.tensor([2.]))
    True
    """
    return bool(_checked("is_nonzero", input))


@composite(method=False)
def numel(input):
    """The number of elements.

    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    return _checked("numel", input).numel()


@composite(method=False)
def is_inference(input):
    """Whether the tensor was made in inference mode.

    >>> torch.is_inference(torch.ones(1))
    False
    """
    return _checked("is_inference", input).is_inference()


def typename(obj, /) -> str:
    """The full name of a type or of an object's type: 'torch.FloatTensor'.

    >>> torch.typename(torch.ones(2)), torch.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", None) or ""
    name = getattr(obj, "__qualname__", None)
    if name is None:
        name, module = type(obj).__qualname__, type(obj).__module__ or ""
    module = torch_name(module) or module
    return name if module in ("", "builtins") else f"{module}.{name}"


def compiled_with_cxx11_abi() -> bool:
    """True: there is no C++ here that could have been compiled otherwise.

    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


def is_vulkan_available() -> bool:
    """False.

    >>> torch.is_vulkan_available()
    False
    """
    return False


def get_device_module(device=None):
    """torch.cuda or torch.cpu, for a device or the best one there is.

    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if device is None:
        from .devices import cuda

        kind = "cuda" if cuda.is_available() else "cpu"
    else:
        kind = _types.device(device).type
    return importlib.import_module(f"functorch_core.torch.{kind}")


def get_file_path(*path_components: str) -> str:
    """The path of a file of this package; '' as first component is the package's folder.

    >>> isinstance(torch.get_file_path("torch"), str)
    True
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.join(package, *path_components[1:])


def set_default_tensor_type(t, /):
    """Old form of set_default_dtype and set_default_device: 'torch.DoubleTensor'.

    >>> torch.set_default_tensor_type(torch.DoubleTensor)
    >>> torch.tensor([1.]).dtype
    torch.float64
    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        t = legacy_type_named(t) or _types.named(t.rpartition(".")[2])
    if isinstance(t, CudaLegacyType):
        t.check()
        _types.set_default_device("cuda")
    if not getattr(getattr(t, "dtype", None), "is_floating_point", False):
        raise TypeError("only floating-point types are supported as the default type")
    _types.set_default_dtype(t.dtype)


def get_default_tensor_type() -> str:
    """The name of the default tensor type.

    >>> torch.get_default_tensor_type()
    'torch.FloatTensor'
    """
    names = {"float64": "Double", "float16": "Half", "bfloat16": "BFloat16"}
    return f"torch.{names.get(_types.defaults.dtype.name, 'Float')}Tensor"


# ---- torch.sym_*: numbers, since there are no symbolic ones --------------------------------------


def sym_int(a):
    """int(a), rounded towards zero.

    >>> torch.sym_int(2.7), torch.sym_int(-2.7)
    (2, -2)
    """
    return builtins.int(a)


def sym_float(a):
    """float(a).

    >>> torch.sym_float(3)
    3.0
    """
    return builtins.float(a)


def sym_max(a, b):
    """max(a, b); a float if one of them is.

    >>> torch.sym_max(1, 2.0), torch.sym_max(3, 2.0)
    (2.0, 3.0)
    """
    found = builtins.max(a, b)
    return builtins.float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a, b):
    """min(a, b); a float if one of them is.

    >>> torch.sym_min(1, 2.0)
    1.0
    """
    found = builtins.min(a, b)
    return builtins.float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(a) -> bool:
    """not a.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_ite(b, t, f):
    """t if b else f.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    return t if b else f


def sym_sum(args):
    """The sum of a sequence.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return builtins.sum(args)
