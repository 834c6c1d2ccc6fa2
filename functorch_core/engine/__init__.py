"""The engine: values, and the recorder that turns eager code into compiled programs."""

from . import programs, spmd  # noqa: F401 (set what a flush calls, and a call on several devices)
from .at_once import aside, at_once
from .bounds import check as check_bounds
from .bounds import extent_of
from .deferred import guarded, keep, pending, record_guarded, undo_later
from .errors import DeferredError, RecompileError
from .modes import TIERS, fail_on_recompile, forced_tier, get_tier, set_log, set_tier
from .nans import debug_infs, debug_nans
from .recorder import Recording, flush, record, run_graph
from .stats import reset_stats, stats
from .units import Unit, unit_of_graph, unit_of_primitive
from .value import NoData, Value, absent, concrete, from_buffer, from_numpy, has_data, is_absent, to_buffer, to_numpy
from .watch import Explanation, explain
