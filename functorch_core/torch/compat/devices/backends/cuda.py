"""torch.backends.cuda: the flags are kept and change nothing; torch.cuda says what there is."""

import contextlib as _contextlib
import enum as _enum

from .....core.warn import warn as _warn
from .... import _missing
from ..cuda import is_available
from ._flags import Flags as _Flags
from ._flags import answer as _answer

__getattr__ = _missing.getter(__name__)
matmul = _Flags(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = _Flags(size=0, max_size=4096)
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "fp16_bf16_reduction_math": False}


def is_built() -> bool:
    """Whether programs can run on a GPU: as torch.cuda.is_available.

    >>> torch.backends.cuda.is_built() == torch.cuda.is_available()
    True
    """
    return is_available()


def _switch(name: str, done: str = "enabled"):
    def enabled() -> bool:
        return _sdp[name]

    def enable(enabled: bool):
        _sdp[name] = bool(enabled)

    names = (
        [f"{name}_sdp_enabled", f"enable_{name}_sdp"]
        if done == "enabled"
        else [f"{name}_sdp_{done}", f"allow_{name}_sdp"]
    )
    enabled.__doc__, enable.__doc__ = (
        f"""{what} the {name} form of attention{is_allowed}; XLA chooses by itself.

        >>> before = torch.backends.cuda.{names[0]}()
        >>> torch.backends.cuda.{names[1]}(False)
        >>> torch.backends.cuda.{names[0]}()
        False
        >>> torch.backends.cuda.{names[1]}(before)
        """
        for what, is_allowed in (("Whether", " is allowed"), ("Allow", ""))
    )
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = _switch(
    "fp16_bf16_reduction_math", "allowed"
)


_OLD_KERNEL = (
    "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
    "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature."
)


def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Context: which forms of attention are allowed; XLA chooses by itself.

    >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...   torch.backends.cuda.flash_sdp_enabled()
    False
    """
    _warn(_OLD_KERNEL, FutureWarning)
    return _allowed(enable_flash, enable_math, enable_mem_efficient, enable_cudnn)


@_contextlib.contextmanager
def _allowed(enable_flash, enable_math, enable_mem_efficient, enable_cudnn):
    saved = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _sdp.update(saved)


def is_flash_attention_available() -> bool:
    """Whether PyTorch's flash attention is there: no.

    >>> isinstance(torch.backends.cuda.is_flash_attention_available(), bool)
    True
    """
    return False


is_ck_sdpa_available = _answer(False, "Whether AMD's attention kernels are there: no.", "cuda.is_ck_sdpa_available")


def can_use_flash_attention(params, debug=False) -> bool:
    """Whether PyTorch's flash attention takes these operands: no.

    >>> torch.backends.cuda.can_use_flash_attention(None)
    False
    """
    return False


can_use_cudnn_attention = can_use_efficient_attention = can_use_flash_attention


def _preferred(cls: type, first):
    """A function that sets and tells a preference; XLA chooses by itself."""
    chosen = [first]

    def preferred(backend=None):
        """The preferred library; one that is given, by its name or as a member, is set. Nothing follows.

        >>> library = torch.backends.cuda.preferred_blas_library()
        """
        if backend is not None:
            found = (
                backend
                if isinstance(backend, cls)
                else next((x for x in cls if x.name.lower() == str(backend).lower()), None)
            )
            if found is None:
                raise RuntimeError(f"Unknown input value. Choose from: {', '.join(x.name.lower() for x in cls)}.")
            chosen[0] = found
        return chosen[0]

    return preferred


_LinalgBackend = _enum.Enum("_LinalgBackend", "Default Cusolver Magma", start=0)
_BlasBackend = _enum.Enum("_BlasBackend", "Default Cublas Cublaslt Ck", start=0)
_ROCmFABackend = _enum.Enum("_ROCmFABackend", "Default AOTriton Ck", start=0)
preferred_linalg_library = _preferred(_LinalgBackend, _LinalgBackend.Default)
preferred_blas_library = _preferred(_BlasBackend, _BlasBackend.Cublas)
preferred_rocm_fa_library = _preferred(_ROCmFABackend, _ROCmFABackend.Default)
