"""torch.cuda: NVIDIA GPUs, through XLA's client for them if its packages are installed."""

from ..... import xla as _xla
from .... import _missing
from ....operators.shape.legacy_types import cuda_legacy_types as _tensor_types
from ....operators.shape.storage import legacy_storages as _legacy_storages
from ..accelerators import Accelerator as _Accelerator
from .snapshots import list_gpu_processes, memory_snapshot

_accelerator = _Accelerator("cuda")
globals().update(_accelerator.namespace())

globals().update(_tensor_types)
OutOfMemoryError = _xla.errors.OutOfMemoryError


class _CudaLegacyStorage:
    """torch.cuda.FloatStorage and its kin: of a GPU that is not there; with one, use UntypedStorage."""

    def __init__(self, *args, **kwargs):
        _accelerator.require(0)
        raise NotImplementedError(
            f"torch.cuda.{type(self).__name__}; torch.UntypedStorage(..., device='cuda') is there"
        )

    @classmethod
    def from_buffer(cls, *args, **kwargs):
        """Refused, as on every GPU: buffers are on the host."""
        raise RuntimeError("from_buffer: Not available for CUDA storage")

    @classmethod
    def _new_with_weak_ptr(cls, *args, **kwargs):
        raise RuntimeError("_new_with_weak_ptr: Not available for CUDA storage")

    @classmethod
    def _new_shared_filename(cls, manager, obj, size, *, device=None, dtype=None):
        raise RuntimeError("_new_shared_filename: Not available for CUDA storage")


globals().update(
    {
        n: type(
            n,
            (_CudaLegacyStorage,),
            {
                "__doc__": f"""The memory of a tensor of {s._dtype} on a GPU.

                >>> torch.cuda.{n}.__name__
                '{n}'
                """,
                "dtype": s._dtype,
                "__module__": __name__,
            },
        )
        for n, s in _legacy_storages.items()
    }
)

has_half = has_magma = False
_missing_or_error = _missing.getter(__name__, ("amp", "comm", "memory", "nvtx", "random", "streams"))


def __getattr__(name: str):
    if name == "_initialized":  # asked when it is read: an answer that is kept would start the GPUs at import
        return _accelerator.is_initialized()
    return _missing_or_error(name)


def _lazy_init():
    """init() under its private name: AssertionError if there is no GPU."""
    _accelerator.init()


def _is_in_bad_fork() -> bool:
    """False: XLA's client itself refuses a forked process."""
    return False


def _lazy_call(callable, **kwargs):
    """Call a function once GPUs are in use: at once if there are any, never otherwise."""
    if _accelerator.is_initialized():
        callable()


class _CudaDeviceProperties:
    """For annotations; get_device_properties returns a named tuple."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is a GPU: XLA computes bfloat16 on all of them.

    >>> torch.cuda.is_bf16_supported() or not torch.cuda.is_available()
    True
    """
    return _accelerator.is_available()


def is_tf32_supported() -> bool:
    """Whether there is a GPU that multiplies in TF32: since compute capability 8.

    >>> isinstance(torch.cuda.is_tf32_supported(), bool)
    True
    """
    return _accelerator.is_available() and _accelerator.get_device_capability()[0] >= 8


def is_current_stream_capturing() -> bool:
    """Whether a CUDA graph is being captured: never.

    >>> torch.cuda.is_current_stream_capturing()
    False
    """
    return False


def can_device_access_peer(device, peer_device) -> bool:
    """Whether a GPU can read another's memory.

    >>> if torch.cuda.device_count() > 1: print(torch.cuda.can_device_access_peer(0, 1) in (True, False))
    """
    _accelerator.require(_accelerator.index_of(device))
    return False


def get_sync_debug_mode() -> int:
    """0: synchronizations are not reported.

    >>> torch.cuda.get_sync_debug_mode() if torch.cuda.is_available() else 0
    0
    """
    return 0


def set_sync_debug_mode(debug_mode):
    """Accepted without effect.

    >>> if torch.cuda.is_available(): torch.cuda.set_sync_debug_mode(0)
    """


def set_per_process_memory_fraction(fraction: float, device=None):
    """Not possible once the device is in use.

    >>> torch.cuda.set_per_process_memory_fraction(0.5)
    Traceback (most recent call last):
    NotImplementedError: torch.cuda.set_per_process_memory_fraction: set XLA_PYTHON_CLIENT_MEM_FRACTION ...
    """
    raise NotImplementedError(
        "torch.cuda.set_per_process_memory_fraction: set XLA_PYTHON_CLIENT_MEM_FRACTION before the program starts"
    )


def get_allocator_backend() -> str:
    """The name of the allocator.

    >>> isinstance(torch.cuda.get_allocator_backend(), str)
    True
    """
    return "xla"


def current_blas_handle():
    """Not possible.

    >>> torch.cuda.current_blas_handle()
    Traceback (most recent call last):
    NotImplementedError: torch.cuda.current_blas_handle
    """
    raise NotImplementedError("torch.cuda.current_blas_handle")
