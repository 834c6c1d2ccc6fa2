"""torch._inductor.utils: names that test utilities import."""

from .... import _missing

GPU_TYPES = ["cuda", "mps", "xpu", "mtia"]
__getattr__ = _missing.getter(__name__)
