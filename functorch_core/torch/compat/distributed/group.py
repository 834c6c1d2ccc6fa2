"""Process groups: the default one and others, of this one process."""

from __future__ import annotations

import enum
import os

from ..futures import Future

NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
ONE_PROCESS = (
    "torch.distributed.init_process_group: world_size={size} is not implemented; "
    "programs run in one process here (world_size=1)"
)


class Backend(str):
    """The name of a backend."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str):
        return str.__new__(cls, name.lower())


class RedOpType(enum.Enum):
    """How reductions combine; of one process, all of them are the identity."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class _ReduceOpMeta(type):
    def __instancecheck__(cls, instance):
        return type(instance) in (ReduceOp, RedOpType)


class ReduceOp(metaclass=_ReduceOpMeta):
    """Where the kinds of reductions are found: `ReduceOp.SUM`, which is its instance too."""

    RedOpType = RedOpType

    def __init__(self, op: RedOpType):
        self.op = RedOpType(op)

    def __eq__(self, other):
        return self.op == getattr(other, "op", other)

    def __hash__(self):
        return hash(self.op)


for _kind in RedOpType:
    setattr(ReduceOp, _kind.name, _kind)
RedOpType.__qualname__ = "ReduceOp.RedOpType"
reduce_op = ReduceOp


class Work:
    """A collective that was asked for: it is done."""

    def __init__(self, value=None):
        self.value = value

    def is_completed(self) -> bool:
        """True."""
        return True

    is_success = is_completed

    def wait(self, timeout=None) -> bool:
        """True, at once."""
        return True

    def exception(self):
        """None."""

    def result(self):
        """What the collective gives."""
        return self.value

    def get_future(self):
        """A future of the result."""
        future = Future()
        future.set_result(self.value)
        return future


class ProcessGroup:
    """This process as a group."""

    def __init__(self, backend: str = "gloo"):
        self.backend = Backend(backend or "gloo")

    def rank(self) -> int:
        """0."""
        return 0

    def size(self) -> int:
        """1."""
        return 1

    def name(self) -> str:
        """The name of the backend."""
        return self.backend


class _GroupMember:
    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = object()


GroupMember = group = _GroupMember


def default() -> ProcessGroup:
    """The default group; ValueError before init_process_group."""
    if GroupMember.WORLD is None:
        raise ValueError(NOT_INITIALIZED)
    return GroupMember.WORLD


def init_process_group(
    backend=None,
    init_method=None,
    timeout=None,
    world_size=-1,
    rank=-1,
    store=None,
    group_name="",
    pg_options=None,
    device_id=None,
):
    """Start the group of this process; world_size is 1, given or in the environment."""
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    size = int(os.environ.get("WORLD_SIZE", 1)) if world_size in (-1, None) else world_size
    if size != 1:
        raise NotImplementedError(ONE_PROCESS.format(size=size))
    GroupMember.WORLD = ProcessGroup(backend)


def destroy_process_group(group=None):
    """End a group."""
    world = default()
    if group is None or group is world:
        GroupMember.WORLD = None


def new_group(
    ranks=None,
    timeout=None,
    backend=None,
    pg_options=None,
    use_local_synchronization=False,
    group_desc=None,
    device_id=None,
) -> ProcessGroup:
    """Another group of this process."""
    world = default()
    if ranks is not None and list(ranks) not in ([0], []):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    return ProcessGroup(backend or world.backend)


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(a group, all groups)."""
    made = new_group(backend=backend)
    return made, [made]


def _rank_not_in_group(group) -> bool:
    """Whether this process is outside of a group."""
    return group is GroupMember.NON_GROUP_MEMBER


# ---- questions -----------------------------------------------------------------------------------


def is_available() -> bool:
    """True: groups of one process are there."""
    return True


def is_initialized() -> bool:
    """Whether init_process_group was called."""
    return GroupMember.WORLD is not None


def get_rank(group=None) -> int:
    """0; ValueError before init_process_group."""
    return default().rank()


def get_world_size(group=None) -> int:
    """1; ValueError before init_process_group."""
    return default().size()


def get_backend(group=None) -> str:
    """The name of the backend; ValueError before init_process_group."""
    return (group or default()).backend


def get_node_local_rank(fallback_rank=None) -> int:
    """$LOCAL_RANK, or the fallback."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank "
            "to allow `get_node_local_rank` to work."
        )
    return int(fallback_rank)


def get_global_rank(group, group_rank: int) -> int:
    """The rank in the default group of a rank in a group."""
    return group_rank


def get_group_rank(group, global_rank: int) -> int:
    """The rank in a group of a rank in the default group."""
    return global_rank


def get_process_group_ranks(group) -> list[int]:
    """[0]."""
    return [0]


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be named: 'gloo' and 'nccl' can, for one process."""
    return backend.lower() in ("gloo", "nccl")


def is_gloo_available() -> bool:
    """True, for one process."""
    return True


def is_nccl_available() -> bool:
    """Whether there is a GPU."""
    from ..devices.cuda import is_available

    return is_available()


def is_mpi_available() -> bool:
    """False."""
    return False


is_ucc_available = is_xccl_available = is_mpi_available


def is_torchelastic_launched() -> bool:
    """Whether torchrun started the process."""
    return "TORCHELASTIC_RUN_ID" in os.environ
