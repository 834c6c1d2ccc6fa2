"""torch._functorch.autograd_function."""

from .... import _missing
from ....levels.function import VmapInfo

__all__ = ["VmapInfo"]
__getattr__ = _missing.getter(__name__)
