"""torch.utils.benchmark: timing statements."""

from .... import _missing
from .callgrind import CopyIfCallgrind
from .compare import Colorize, Compare
from .fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .instructions import CallgrindStats, FunctionCount, FunctionCounts
from .measurement import Measurement, TaskSpec, select_unit
from .timer import Timer, timer

__getattr__ = _missing.getter(__name__)
