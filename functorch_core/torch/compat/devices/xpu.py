"""torch.xpu: there is no such device here; functions do what PyTorch's do without one."""

from ... import _missing
from .accelerators import Accelerator as _Accelerator

globals().update(_Accelerator("xpu").namespace())
__getattr__ = _missing.getter(__name__)
__path__: list = []  # torch.xpu.memory and its kin are modules
