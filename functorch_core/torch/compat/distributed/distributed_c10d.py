"""torch.distributed.distributed_c10d: the names of torch.distributed."""

from ... import _missing
from .collectives import (
    P2POp,
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    gather,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    send,
)
from .group import (
    Backend,
    GroupMember,
    ProcessGroup,
    ReduceOp,
    Work,
    _rank_not_in_group,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
)
from .group import default as _get_default_group
from .stores import FileStore, HashStore, PrefixStore, Store, TCPStore

_pg_map: dict = {}  # no group is known by a backend's number

__getattr__ = _missing.getter(__name__)
