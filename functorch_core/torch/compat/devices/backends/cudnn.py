"""torch.backends.cudnn: XLA calls cuDNN by itself; the flags are kept and change nothing."""

from .... import _missing
from ._flags import Flags as _Flags
from ._flags import answer as _answer
from ._flags import context_of as _context_of

enabled, deterministic, benchmark, benchmark_limit, allow_tf32 = True, False, False, 10, True
fp32_precision = "none"
conv, rnn = _Flags(fp32_precision="none"), _Flags(fp32_precision="none")
flags = _context_of(globals(), "enabled benchmark benchmark_limit deterministic allow_tf32")
version = _answer(None, "The version of cuDNN: not known here.", "cudnn.version")
is_available = _answer(False, "Whether PyTorch's own cuDNN bindings are there: no.", "cudnn.is_available")
__getattr__ = _missing.getter(__name__)


def is_acceptable(tensor) -> bool:
    """Whether PyTorch would use cuDNN for a tensor: no.

    >>> torch.backends.cudnn.is_acceptable(torch.ones(2))
    False
    """
    return False
