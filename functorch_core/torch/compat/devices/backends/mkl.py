"""torch.backends.mkl: the answer is that of PyTorch's builds; XLA computes."""

from .... import _missing
from ._flags import answer as _answer

VERBOSE_OFF, VERBOSE_ON = 0, 1
is_available = _answer(True, "Whether there are fast kernels for products and Fourier transforms.", "mkl.is_available")
__getattr__ = _missing.getter(__name__)
