"""Process groups: the default one, of all processes, and others of some of them.

Collectives of several processes are programs of XLA's runtime, whose data go through Gloo (xla/processes.py). A group
of one process needs none of that.
"""

from __future__ import annotations

import enum
import os
import socket
from collections.abc import Callable, Sequence

import numpy as np

from ....xla import ExecutionError, processes
from ..futures import Future
from .errors import DistNetworkError
from .mail import Mailbox
from .stores import DEFAULT_TIMEOUT, FileStore, PrefixStore, Store, TCPStore, seconds_of

NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
NOT_IN_ENVIRONMENT = (
    "Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
)
NO_GPU = "init_process_group: backend 'nccl' needs GPUs, and there are none; on CPUs take backend='gloo'"


class Backend(str):
    """The name of a backend: 'gloo', 'nccl' or 'xla', all of which are XLA's runtime here.

    >>> import torch.distributed as dist
    >>> dist.Backend("GLOO")
    'gloo'
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str):
        return str.__new__(cls, name.lower())


class RedOpType(enum.Enum):
    """How reductions combine."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class _ReduceOpMeta(type):
    def __instancecheck__(cls, instance):
        return type(instance) in (ReduceOp, RedOpType)


class ReduceOp(metaclass=_ReduceOpMeta):
    """Where the kinds of reductions are found: `ReduceOp.SUM`, which is its instance too.

    >>> import torch.distributed as dist
    >>> x = torch.tensor([3.])
    >>> dist.all_reduce(x, dist.ReduceOp.MAX)
    >>> x
    tensor([3.])
    """

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
    """Something that was asked for: done, or, of a message, waited for by wait().

    >>> import torch.distributed as dist
    >>> work = dist.all_reduce(torch.ones(2), async_op=True)
    >>> work.wait()
    True
    """

    def __init__(self, value=None, finish=None):
        self.value, self._finish = value, finish

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self._finish is None

    is_success = is_completed

    def wait(self, timeout=None) -> bool:
        """Wait until it is done; True."""
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish(timeout)
        return True

    def synchronize(self):
        """Wait until it is done."""
        self.wait()

    def exception(self):
        """None."""

    def result(self):
        """What the collective gives."""
        return self.value

    def get_future(self):
        """A future of the result."""
        future = Future()
        self.wait()
        future.set_result(self.value)
        return future


class ProcessGroup:
    """Some of the processes, by their ranks in the default group.

    >>> import torch.distributed as dist
    >>> group = dist.new_group([0])
    >>> group.size(), group.rank()
    (1, 0)
    """

    def __init__(
        self,
        backend: str = "gloo",
        ranks: Sequence[int] = (0,),
        rank: int = 0,
        name: str = "",
        timeout=None,
        number: int = 0,
    ):
        self.backend, self.ranks, self.global_rank = Backend(backend or "gloo"), list(ranks), rank
        self.group_name, self.timeout = name, seconds_of(timeout)
        self._communicator: processes.Communicator | None = None
        self.n_barriers = self.n_compared = self.n_splits = 0
        self.key = f"{name}/{number}/{self.ranks}"  # what messages of this group begin with
        self.parts: dict[tuple[int, ...], ProcessGroup] = {}  # see of_ranks

    def rank(self) -> int:
        """The place of this process in the group."""
        return self.ranks.index(self.global_rank)

    def size(self) -> int:
        """How many processes are in it."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the backend."""
        return self.backend

    def run(self, what: str, x: np.ndarray, out_shape: tuple[int, ...] | None = None, **options) -> np.ndarray:
        """A collective of the processes' arrays, see Communicator.run; RuntimeError if others are gone."""
        try:
            return self._joined().run(what, x, out_shape, **options)
        except ExecutionError as error:
            raise RuntimeError(str(error)) from None

    def meet(self) -> None:
        """Wait until all of its processes are here; RuntimeError after the timeout, or if others are gone."""
        self.n_barriers += 1
        try:
            self._joined().barrier(f"{self.key}/{self.n_barriers}", self.timeout)
        except ExecutionError as error:
            raise RuntimeError(str(error)) from None

    def _joined(self) -> processes.Communicator:
        if self._communicator is None:
            self._communicator = processes.Communicator(runtime(), self.ranks, self.key, self.timeout)
        return self._communicator

    @property
    def group_desc(self) -> str:
        """What new_group was told of it."""
        return self.group_name

    def set_timeout(self, timeout) -> None:
        """Wait so long for others; before its first collective."""
        self.timeout = seconds_of(timeout)

    def __repr__(self):
        return f"ProcessGroup(ranks={self.ranks}, backend={str(self.backend)!r})"


class _GroupMember:
    """Which processes work together: `WORLD`, the group of all of them, once init_process_group was called.

    >>> import torch.distributed as dist
    >>> dist.GroupMember.WORLD.size()
    1
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100  # what new_group gives to processes that are not in it


GroupMember = group = _GroupMember


handlers: dict[str, Callable] = {}  # of rendezvous, by the scheme of an init_method


class _World:
    """What init_process_group has set up."""

    runtime: processes.Runtime | None = None
    mailbox: Mailbox | None = None
    store: Store | None = None
    address = ""  # of the runtime
    n_groups = 0

    def __init__(self):
        self.meetings: dict[str, TCPStore] = {}  # stores at addresses of env:// and tcp://, where rpc came first


_world = _World()


def runtime() -> processes.Runtime:
    """The runtime that the processes share."""
    assert _world.runtime is not None
    return _world.runtime


def mailbox() -> Mailbox:
    """Where messages from other processes arrive."""
    if _world.mailbox is None:
        shared = runtime()
        _world.mailbox = Mailbox(
            shared.rank, lambda rank, at: shared.set(f"mail/{rank}", at), lambda rank: shared.get(f"mail/{rank}")
        )
    return _world.mailbox


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
    """Join the other processes of a program: `world_size` of them, this one being number `rank`.

    init_method: "env://" (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, as torchrun sets them; the default),
    "tcp://host:port" or "file://path"; or a `store` that all have. backend: "gloo", "nccl" (needs GPUs) or None.
    DistNetworkError, a RuntimeError, if the others do not come within the timeout, or the port is in use.

    >>> torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    >>> torch.distributed.get_world_size()
    1
    >>> torch.distributed.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    world_size, rank = (-1 if n is None else n for n in (world_size, rank))
    scheme = (init_method or "").partition("://")[0]
    if store is None and scheme in handlers:
        store, rank, world_size = next(handlers[scheme](init_method, rank=rank, world_size=world_size))
    if store is None and (init_method or "env://").startswith("env://"):
        world_size, rank = _from_environment("WORLD_SIZE", world_size, 1), _from_environment("RANK", rank, 0)
    if not 0 <= rank < world_size:
        raise ValueError(f"init_process_group: rank={rank} is not one of world_size={world_size}")
    if world_size > 1 and str(backend or "").lower() == "nccl" and not is_nccl_available():
        raise RuntimeError(NO_GPU)
    seconds = seconds_of(timeout or DEFAULT_TIMEOUT)
    if world_size > 1:
        address = _address(init_method or "env://", store, rank, seconds)
        try:
            _world.address = address
            _world.runtime = processes.join(address, rank, world_size, seconds)
            _world.runtime.devices()
        except ExecutionError as error:
            raise DistNetworkError(str(error)) from None
    _world.store = store
    GroupMember.WORLD = ProcessGroup(backend, range(world_size), rank, "default", seconds)


def _from_environment(name: str, given: int, alone: int) -> int:
    if given >= 0:
        return given
    if name not in os.environ and "MASTER_ADDR" in os.environ and "RANK" in os.environ:
        raise ValueError(NOT_IN_ENVIRONMENT.format(name=name))
    return int(os.environ.get(name, alone))


def place_of(init_method: str) -> str:
    """The host:port that env:// and tcp:// say; "" of others."""
    scheme, _, rest = init_method.partition("://")
    if scheme == "tcp":
        return rest.partition("?")[0]
    if scheme != "env":
        return ""
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise ValueError(NOT_IN_ENVIRONMENT.format(name=name))
    return f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"


def _address(init_method: str, store: Store | None, rank: int, seconds: float) -> str:
    """host:port of the runtime's service, which is the process of rank 0's."""
    place = "" if store is not None else place_of(init_method)
    store = store or _world.meetings.get(place)
    if place and store is None:
        return place
    if store is None and init_method.startswith("file://"):
        store = FileStore(init_method.removeprefix("file://").partition("?")[0])
    if store is None:
        raise ValueError(f"init_process_group: init_method={init_method!r}; there are env://, tcp:// and file://")
    if rank == 0:
        store.set("functorch/address", f"{_own_address(store)}:{free_port()}")
    store.wait(["functorch/address"], seconds)
    return store.get("functorch/address").decode()


def _own_address(store: Store) -> str:
    inner = store.underlying_store if isinstance(store, PrefixStore) else store
    return inner.host if isinstance(inner, TCPStore) else "127.0.0.1"


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def destroy_process_group(group=None):
    """End a group; of the default one, leave the other processes.

    >>> import torch.distributed as dist
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    world = default()
    if group is not None and group is not world:
        return
    GroupMember.WORLD, _world.mailbox, _world.store = None, None, None
    if _world.runtime is not None:
        left, _world.runtime = _world.runtime, None
        processes.leave(left)


def new_group(
    ranks=None,
    timeout=None,
    backend=None,
    pg_options=None,
    use_local_synchronization=False,
    group_desc=None,
    device_id=None,
):
    """A group of some processes, by rank. All processes call it; those outside get GroupMember.NON_GROUP_MEMBER.

    >>> import torch.distributed as dist
    >>> group = dist.new_group([0])
    >>> dist.get_world_size(group)
    1
    """
    world = default()
    chosen = list(range(world.size())) if ranks is None or not len(ranks) else sorted(map(int, ranks))
    if any(not 0 <= r < world.size() for r in chosen):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"new_group: a rank is there twice in {chosen}")
    _world.n_groups += 1
    if world.global_rank not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    name = group_desc or f"group{_world.n_groups}"
    seconds, number = timeout or world.timeout, _world.n_groups
    return ProcessGroup(backend or world.backend, chosen, world.global_rank, name, seconds, number)


def of_ranks(ranks: Sequence[int]) -> ProcessGroup:
    """The group of some processes, of which this is one: the same each time. Only its members call it."""
    world, chosen = default(), tuple(ranks)
    if chosen == tuple(world.ranks):
        return world
    if chosen not in world.parts:
        name = f"ranks {chosen}"
        world.parts[chosen] = ProcessGroup(world.backend, chosen, world.global_rank, name, world.timeout)
    return world.parts[chosen]


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(the group of this process, all groups): groups of `group_size` neighbours each.

    >>> import torch.distributed as dist
    >>> mine, groups = dist.new_subgroups(group_size=1)
    >>> dist.get_world_size(mine), len(groups) == dist.get_world_size()
    (1, True)
    """
    world = default()
    size = world.size() if group_size is None else group_size
    if world.size() % size:
        raise ValueError("The world size must be divisible by group_size")
    made = [new_group(range(k, k + size), timeout, backend) for k in range(0, world.size(), size)]
    return next(g for g in made if isinstance(g, ProcessGroup)), made


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(the group of this process, all groups): groups of the ranks in each list. ValueError if a rank is in two.

    >>> import torch.distributed as dist
    >>> mine, groups = dist.new_subgroups_by_enumeration([[0]])
    >>> dist.get_world_size(mine), len(groups)
    (1, 1)
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    together = [r for ranks in ranks_per_subgroup_list for r in ranks]
    for r in together:
        if together.count(r) > 1:
            raise ValueError(f"Rank {r} has appeared in both subgroups of {ranks_per_subgroup_list}")
    made = [new_group(ranks, timeout, backend, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    return next((g for g in made if isinstance(g, ProcessGroup)), None), made


def split_group(
    parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None
) -> ProcessGroup | None:
    """The group of this process among those that a group is divided into, by lists of places in it; None if no list has
    this process. All processes of the group call it.

    >>> import torch.distributed as dist
    >>> dist.split_group(split_ranks=[[0]]).size()
    1
    """
    parent = parent_pg or default()
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent.n_splits += 1
    for places in split_ranks:
        chosen = sorted(parent.ranks[place] for place in places)
        if parent.global_rank in chosen:
            name = group_desc or f"{parent.group_name}:split:{parent.n_splits}"
            limit = timeout or parent.timeout
            made = ProcessGroup(backend or parent.backend, chosen, parent.global_rank, name, limit, parent.n_splits)
            made.key = f"{parent.key}/{made.key}"
            return made
    return None


def get_pg_count() -> int:
    """How many groups there are.

    >>> torch.distributed.get_pg_count() >= 1
    True
    """
    return _world.n_groups + (GroupMember.WORLD is not None)


class BackendConfig:
    """The backend of each type of device, of a name such as "gloo" or "cpu:gloo,cuda:nccl".

    >>> import torch.distributed as dist
    >>> dist.BackendConfig(dist.Backend("cpu:gloo,cuda:nccl")).get_device_backend_map()
    {'cpu': 'gloo', 'cuda': 'nccl'}
    """

    def __init__(self, backend: Backend):
        name = str(backend).lower()
        if ":" in name:
            pairs = [part.split(":") for part in name.split(",")]
            if any(len(pair) != 2 for pair in pairs):
                raise ValueError(
                    f"The custom backend string argument is invalid: {backend}; expected device:backend,..."
                )
            self.device_backend_map = {device: Backend(of_it) for device, of_it in pairs}
        elif name == Backend.UNDEFINED:
            self.device_backend_map = {"cpu": Backend(Backend.GLOO)}
        else:
            devices = ["cuda"] if name == Backend.NCCL else ["cpu", "cuda"]
            self.device_backend_map = dict.fromkeys(devices, Backend(name))

    def get_device_backend_map(self) -> dict[str, Backend]:
        """The backends by the type of device."""
        return self.device_backend_map

    def __repr__(self):
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())


def get_backend_config(group=None) -> str:
    """The backends of a group's devices, as text.

    >>> torch.distributed.get_backend_config()
    'cpu:gloo,cuda:gloo'
    """
    return str(BackendConfig((group or default()).backend))


def supports_complex(reduceOp) -> bool:
    """Whether complex numbers can be combined so: not by order or bits.

    >>> import torch.distributed as dist
    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    kind = getattr(reduceOp, "op", reduceOp)
    return kind not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def _rank_not_in_group(group) -> bool:
    """Whether this process is outside of a group."""
    return group == GroupMember.NON_GROUP_MEMBER


# ---- questions -----------------------------------------------------------------------------------


def is_available() -> bool:
    """True.

    >>> torch.distributed.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether init_process_group was called.

    >>> torch.distributed.is_initialized()
    True
    """
    return GroupMember.WORLD is not None


def get_rank(group=None) -> int:
    """The place of this process in a group, -1 outside of it; ValueError before init_process_group.

    >>> torch.distributed.get_rank()
    0
    """
    return -1 if _rank_not_in_group(group) else (group or default()).rank()


def get_world_size(group=None) -> int:
    """How many processes are in a group, -1 outside of it; ValueError before init_process_group.

    >>> torch.distributed.get_world_size()
    1
    """
    return -1 if _rank_not_in_group(group) else (group or default()).size()


def get_backend(group=None) -> str:
    """The name of the backend; ValueError before init_process_group.

    >>> torch.distributed.get_backend()
    'gloo'
    """
    return (group or default()).backend


def get_default_backend_for_device(device) -> str:
    """The name of the backend for tensors on a device; ValueError for one that has none.

    >>> torch.distributed.get_default_backend_for_device("cpu")
    'gloo'
    """
    kind = (device if isinstance(device, str) else device.type).partition(":")[0]
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def get_node_local_rank(fallback_rank=None) -> int:
    """$LOCAL_RANK, or the fallback.

    >>> torch.distributed.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank "
            "to allow `get_node_local_rank` to work."
        )
    return int(fallback_rank)


def get_global_rank(group, group_rank: int) -> int:
    """The rank in the default group of a rank in a group.

    >>> import torch.distributed as dist
    >>> dist.get_global_rank(dist.new_group([0]), 0)
    0
    """
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_group_rank(group, global_rank: int) -> int:
    """The rank in a group of a rank in the default group.

    >>> import torch.distributed as dist
    >>> dist.get_group_rank(dist.new_group([0]), 0)
    0
    """
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_process_group_ranks(group) -> list[int]:
    """The ranks in the default group of the processes of a group.

    >>> import torch.distributed as dist
    >>> dist.get_process_group_ranks(dist.new_group([0]))
    [0]
    """
    return list((group or default()).ranks)


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be named.

    >>> torch.distributed.is_backend_available("gloo")
    True
    """
    return backend.lower() in ("gloo", "nccl", "xla")


def is_gloo_available() -> bool:
    """True.

    >>> torch.distributed.is_gloo_available()
    True
    """
    return True


def is_nccl_available() -> bool:
    """Whether there is a GPU.

    >>> torch.distributed.is_nccl_available() == torch.cuda.is_available()
    True
    """
    from ..devices.cuda import is_available

    return is_available()


def is_mpi_available() -> bool:
    """False.

    >>> torch.distributed.is_mpi_available()
    False
    """
    return False


is_ucc_available = is_xccl_available = is_mpi_available


def is_torchelastic_launched() -> bool:
    """Whether torchrun started the process.

    >>> torch.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ
