"""torch.quasirandom."""
from ._missing import getter as _getter

__getattr__ = _getter(__name__)
