"""torch.cuda.memory."""

from .... import _missing
from . import (
    empty_cache,
    get_allocator_backend,
    ipc_collect,
    list_gpu_processes,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .snapshots import dump_snapshot as _dump_snapshot
from .snapshots import record_memory_history as _record_memory_history
from .snapshots import snapshot as _snapshot

__getattr__ = _missing.getter(__name__)
