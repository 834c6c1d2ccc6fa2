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
    "quantized",
)
__getattr__ = _missing.getter(__name__, _LAZY)
