"""torch.backends.mkldnn: the answer is that of PyTorch's builds; XLA computes."""

from .... import _missing
from ._flags import Flags as _Flags
from ._flags import answer as _answer
from ._flags import context_of as _context_of

enabled, deterministic, allow_tf32, fp32_precision = True, False, True, "none"
matmul, conv, rnn = (_Flags(fp32_precision="none") for _ in range(3))
flags = _context_of(globals(), "enabled deterministic allow_tf32")
is_available = _answer(True, "Whether there are fast kernels for neural networks.", "mkldnn.is_available")
__getattr__ = _missing.getter(__name__)
