"""torch.backends: switches of PyTorch's libraries. XLA has none of them; the flags are kept."""

from .... import _missing

_LAZY = (
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "kleidiai",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "python_native",
    "quantized",
    "xnnpack",
)


def disable_global_flags():
    """Accepted: PyTorch's tests call it so that flags are only set by `flags(...)`.

    >>> torch.backends.disable_global_flags()
    """


__getattr__ = _missing.getter(__name__, _LAZY)
