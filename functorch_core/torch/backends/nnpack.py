"""torch.backends.nnpack: NNPACK is not used; XLA computes."""
from .. import _missing
from ._flags import answer as _answer

is_available = _answer(False, "Whether NNPACK is used: no.")
__getattr__ = _missing.getter(__name__)
