"""torch.utils.benchmark: timing statements."""
from ... import _missing
from .timer import Measurement, Timer, timer

__getattr__ = _missing.getter(__name__)
