"""torch.distributed: several processes, on XLA's distributed runtime.

`python -m functorch_core.torch.distributed.run --nproc-per-node=2 script.py` starts them, as torchrun does. What is
not there raises at its use.
"""

from __future__ import annotations

from ... import _missing
from .buckets import GradBucket
from .collectives import (
    P2POp,
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    gather,
    gather_object,
    irecv,
    isend,
    monitored_barrier,
    recv,
    recv_object_list,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    scatter_object_list,
    send,
    send_object_list,
)
from .debug import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from .device_mesh import DeviceMesh, init_device_mesh
from .direct import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    BuiltinCommHookType,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    breakpoint,
)
from .errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from .group import (
    Backend,
    BackendConfig,
    GroupMember,
    ProcessGroup,
    ReduceOp,
    Work,
    _rank_not_in_group,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    reduce_op,
    split_group,
    supports_complex,
)
from .rendezvous import register_rendezvous_handler, rendezvous
from .stores import FileStore, HashStore, PrefixStore, Store, TCPStore

_all_gather_base = all_gather_single = all_gather_into_tensor
_reduce_scatter_base = reduce_scatter_single = reduce_scatter_tensor

__getattr__ = _missing.getter(
    __name__,
    (
        "_composable",
        "_functional_collectives",
        "algorithms",
        "autograd",
        "buckets",
        "checkpoint",
        "collectives",
        "constants",
        "debug",
        "device_mesh",
        "distributed_c10d",
        "elastic",
        "fsdp",
        "group",
        "launcher",
        "mail",
        "nn",
        "optim",
        "pipelining",
        "rpc",
        "run",
        "stores",
        "tensor",
        "utils",
    ),
)
