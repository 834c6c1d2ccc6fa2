"""torch.distributed.tensor: tensors over the processes of a mesh.

A DTensor is no class of its own: it is a tensor whose value lies on several devices (engine/spmd.py), so that ops,
gradients, views and optimizers know nothing of it. What is called on one is one program for all devices, which XLA's
partitioner divides; it also chooses how a result lies. What PyTorch has besides, the names of this module, stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..... import xla
from .....core.aval import Aval, aval
from .....engine import to_numpy
from .....engine.spmd import moved, sharding_of
from .....engine.value import ABSENT, SHARDED, Value, absent, from_numpy, from_sharded
from ....levels.function import Function
from ....tensors.active import active
from ....tensors.base import Tensor, add_members, from_array, new_tensor, wrap_dim
from ....tensors.types import named
from .. import collectives
from ..device_mesh import DeviceMesh, _mesh_of_grid
from .placement_types import Partial, Placement, Replicate, Shard

LENGTH = (
    "`placements` must have the same length as `device_mesh.ndim`! Found placements length: {n}, and "
    "device_mesh.ndim: {ndim}."
)
NOT_TO_PARTIAL = "Can not redistribute from {old} to {new}, redistributing to Partial is for internal use only!"
UNEVEN = (
    "a tensor of shape {shape} along dimension {dim} by {parts} processes of several dimensions of a mesh: the size "
    "must be a multiple of that. Pad it, take Replicate(), or another dimension"
)
MOST_DIMENSIONS = 63  # of tensors
DIFFERENT = (
    "from_local: the processes have parts of different shapes ({shapes}); say the shape of the whole: "
    "from_local(x, mesh, placements, shape=..., stride=...)"
)
NOT_ITS_PART = (
    "from_local: this process gives {found} of a tensor of shape {shape} that is {wanted} here; sizes that are no "
    "multiple of the number of processes are to be given as shape=, their parts are those of torch.chunk"
)
SEVERAL = (
    "{what}: this process has {n} devices of {mesh}, each with a part of its own: there is no one local tensor. "
    "full_tensor() gives the whole; with one process for each device (torchrun) each has its part"
)
NOT_DISTRIBUTED = "'Tensor' object has no attribute {name!r}: it is no DTensor; see distribute_tensor"
OTHER_RANK = (
    "a DTensor of shape {shape} that rank {saved} saved is loaded by rank {own}, which has another part of it: each "
    "rank loads its own file. torch.distributed.checkpoint loads with any number of processes"
)
OTHER_MESH = (
    "a DTensor was saved on a mesh of the ranks {ranks} with {n} of its devices in this process, which now has {own}; "
    "torch.distributed.checkpoint loads with any number of processes"
)
REDUCTIONS = {"sum": "sum", "avg": "mean", "max": "amax", "min": "amin", "product": "prod"}


def is_distributed(x: Any) -> bool:
    """Whether it is a tensor over a mesh."""
    if not isinstance(x, Tensor) or x._level is not None:
        return False
    value = x._read()
    return value.__class__ is Value and (value.recording is SHARDED or _sharding_without_data(value) is not None)


def _sharding_without_data(value: Value) -> xla.NamedSharding | None:
    """How a value of the meta device will lie on a mesh, which it has in place of its data; None for others."""
    data = getattr(value, "data", None) if value.recording is ABSENT else None
    return data if isinstance(data, xla.NamedSharding) else None


def _without_data(a: Aval, sharding: xla.NamedSharding) -> Value:
    value = absent(a)
    value.data = sharding
    return value


class _DTensorMeta(type):
    """isinstance(x, DTensor) for tensors over a mesh, which have no class of their own."""

    def __instancecheck__(cls, instance):
        return is_distributed(instance)


class DTensor(metaclass=_DTensorMeta):
    """A tensor over the processes of a DeviceMesh: distribute_tensor and DTensor.from_local make them.

    What is computed of one is computed by all processes, which have to call the same functions in the same order.
    Tensors that are no DTensors are taken for whole ones, equal in all processes.

    >>> from torch.distributed.tensor import DTensor, Shard
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> x = DTensor.from_local(torch.ones(2, 3), mesh, [Shard(0)])
    >>> x.shape, x.to_local().shape, x.placements
    (torch.Size([2, 3]), torch.Size([2, 3]), (Shard(dim=0),))
    """

    __module__ = "torch.distributed.tensor"

    def __new__(cls, *args, **kwargs):
        raise TypeError("DTensors are made by DTensor.from_local(tensor, mesh, placements) and distribute_tensor")

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape=None,
        stride=None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        """The tensor of which each process gives its part, its copy (Replicate, the default), or a summand (Partial).

        Summands are added up at once: the result is whole everywhere. `run_check` takes copies from the first process.
        `shape`: of the whole, needed where parts are of different sizes; they are those of torch.chunk.
        """
        mesh = _mesh(device_mesh)
        placements = _checked(placements or [Replicate()] * mesh.ndim, mesh, local_tensor.dim(), partial=True)
        if run_check:
            local_tensor = _from_first(local_tensor, mesh, placements)
        back = None if grad_placements is None else _checked(grad_placements, mesh, local_tensor.dim(), partial=True)
        return _FromLocal.apply(local_tensor, mesh, placements, back, shape)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This process's part. `grad_placements`: what the gradients of the parts are, Partial() if of summands.

        >>> import torch.distributed as dist
        >>> from torch.distributed.tensor import Shard, distribute_tensor
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> distribute_tensor(torch.ones(2), mesh, [Shard(0)]).to_local()
        tensor([1., 1.])
        >>> dist.destroy_process_group()
        """
        mesh = device_mesh(self)
        given = placements_of(self) if grad_placements is None else grad_placements
        return _ToLocal.apply(self, mesh, _checked(given, mesh, self.dim(), partial=True))

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype=None,
        backward_dtype=None,
    ) -> Tensor:
        """The tensor, lying in another way.

        >>> import torch.distributed as dist
        >>> from torch.distributed.tensor import Replicate, Shard, distribute_tensor
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> distribute_tensor(torch.ones(2), mesh, [Shard(0)]).redistribute(placements=[Replicate()]).to_local()
        tensor([1., 1.])
        >>> dist.destroy_process_group()
        """
        own = mesh_of_tensor(self)
        mesh = own if device_mesh is None else device_mesh
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        for old, new in zip(placements_of(self), placements):
            if isinstance(new, Partial):
                raise RuntimeError(NOT_TO_PARTIAL.format(old=old, new=new))
        if forward_dtype is not None:
            self = self.to(forward_dtype)
        return _Redistribute.apply(self, _sharding(mesh, _checked(placements, mesh, self.dim())))

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole tensor, in every process. All have to call it.

        >>> import torch.distributed as dist
        >>> from torch.distributed.tensor import Shard, distribute_tensor
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> distribute_tensor(torch.ones(2), mesh, [Shard(0)]).full_tensor()
        tensor([1., 1.])
        >>> dist.destroy_process_group()
        """
        mesh = mesh_of_tensor(self)
        whole = DTensor.redistribute(self, placements=[Replicate()] * mesh.ndim)
        return DTensor.to_local(whole, grad_placements=grad_placements)


# ---- placements and shardings --------------------------------------------------------------------


def _mesh(given: DeviceMesh | None) -> DeviceMesh:
    if given is None:
        raise RuntimeError("device_mesh is needed: DTensor.from_local(tensor, mesh, placements)")
    return given


def _checked(placements: Sequence[Placement], mesh: DeviceMesh, ndim: int, partial: bool = False) -> tuple:
    """Placements with dimensions that are not negative."""
    placements = tuple(placements)
    if len(placements) != mesh.ndim:
        raise ValueError(LENGTH.format(n=len(placements), ndim=mesh.ndim))
    found = []
    for p in placements:
        if not isinstance(p, Placement):
            raise TypeError(f"a placement is Shard(dim), Replicate() or Partial(), got {p!r}")
        if isinstance(p, Partial) and not partial:
            raise ValueError("Partial placements are only what from_local takes, and gradients")
        found.append(Shard(wrap_dim(p.dim, ndim)) if isinstance(p, Shard) else p)
    return tuple(found)


def _sharding(mesh: DeviceMesh, placements: Sequence[Placement]) -> xla.NamedSharding:
    """XLA's form of placements."""
    dims: dict[int, list[str]] = {}
    for axis, p in zip(mesh.grid.axis_names, placements):
        if isinstance(p, Shard):
            dims.setdefault(p.dim, []).append(axis)
    spec = [tuple(dims[d]) if d in dims else None for d in range(max(dims, default=-1) + 1)]
    return xla.NamedSharding(mesh.grid, xla.PartitionSpec(*spec))


def _placements(sharding: xla.NamedSharding) -> tuple[Placement, ...]:
    spec, found = sharding.spec, []
    for axis in sharding.mesh.axis_names:
        dims = [d for d in range(len(spec)) if axis in spec.axes(d)]
        found.append(Shard(dims[0]) if dims else Replicate())
    return tuple(found)


def _check_even(shape: Sequence[int], sharding: xla.NamedSharding):
    for dim, size in enumerate(shape):
        if size % sharding.parts(dim) and len(sharding.spec.axes(dim)) > 1:  # PyTorch's parts of parts are not XLA's
            raise ValueError(UNEVEN.format(shape=tuple(shape), dim=dim, parts=sharding.parts(dim)))


def sharding_of_tensor(x: Tensor) -> xla.NamedSharding:
    """How a DTensor lies; TypeError for another tensor."""
    found = sharding_of(x._read()) or _sharding_without_data(x._read()) if is_distributed(x) else None
    if found is None:
        raise TypeError(f"a DTensor is needed, got {type(x).__name__}")
    return found


def mesh_of_tensor(x: Tensor) -> DeviceMesh:
    """The mesh of a DTensor.

    >>> import torch.distributed as dist
    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(torch.ones(2), mesh, [Shard(0)]).device_mesh.size()
    1
    >>> dist.destroy_process_group()
    """
    return _mesh_of_grid(sharding_of_tensor(x).mesh)


def placements_of(x: Tensor) -> tuple[Placement, ...]:
    """How a DTensor lies along each dimension of its mesh: as XLA chose, of a result.

    >>> import torch.distributed as dist
    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(torch.ones(2), mesh, [Shard(0)]).placements
    (Shard(dim=0),)
    >>> dist.destroy_process_group()
    """
    return _placements(sharding_of_tensor(x))


device_mesh = mesh_of_tensor


# ---- from and to what a process has --------------------------------------------------------------


def _distributed(value: Value) -> Tensor:
    active.distributed, active.rewrites = _hooks, True
    return new_tensor(value)


def _laid_so(value: Value, sharding: xla.NamedSharding) -> Value:
    """The value, lying as a sharding says; of one without data another that says so."""
    return _without_data(value.aval, sharding) if value.recording is ABSENT else moved(value, sharding)


def _array(x: Tensor) -> np.ndarray:
    return to_numpy(x.detach()._read())


def _from_parts(part: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], shape=None) -> Tensor:
    """The tensor of what all processes give; its shape is needed where parts are of different sizes."""
    summands = [i for i, p in enumerate(placements) if isinstance(p, Partial)]
    if not summands:
        return _joined(_array(part), mesh, placements, shape)
    n = len(summands)  # each a first dimension, divided over its dimension of the mesh
    stacked = _array(part).reshape((1,) * n + tuple(part.shape))
    moved_on = [
        Shard(summands.index(i)) if isinstance(p, Partial) else Shard(p.dim + n) if isinstance(p, Shard) else p
        for i, p in enumerate(placements)
    ]
    sizes = [mesh.shape[i] for i in summands]
    found = _joined(stacked, mesh, moved_on, None if shape is None else (*sizes, *shape))
    for i in summands:
        found = getattr(found, REDUCTIONS[placements[i].reduce_op])(0)
    whole = [Replicate() if isinstance(p, Partial) else p for p in placements]
    return _distributed(moved(found._read(), _sharding(mesh, whole)))


def _joined(part: np.ndarray, mesh: DeviceMesh, placements: Sequence[Placement], shape=None) -> Tensor:
    sharding = _sharding(mesh, placements)
    here = mesh.grid.here
    if len(here) > 1 and any(p.is_shard() and n > 1 for p, n in zip(placements, mesh.shape)):
        raise RuntimeError(SEVERAL.format(what="from_local", n=len(here), mesh=mesh))
    if shape is None:
        _check_alike(part.shape, mesh)
        shape = [n * sharding.parts(d) for d, n in enumerate(part.shape)]
    shape = tuple(shape)
    _check_even(shape, sharding)
    indices = list(sharding.indices(shape))
    for i in here:
        wanted = np.broadcast_to(0, shape)[indices[i]].shape
        if part.shape != wanted:
            raise ValueError(NOT_ITS_PART.format(found=part.shape, shape=shape, wanted=wanted))
    return _distributed(from_sharded(xla.put_parts(shape, sharding, [part] * len(here))))


def _check_alike(shape: Sequence[int], mesh: DeviceMesh):
    """ValueError unless all processes have parts of one shape: their programs would not fit, which ends processes."""
    group = mesh.whole_group()
    if group.size() == 1 or not mesh.grid.here:
        return
    own = np.full(MOST_DIMENSIONS + 1, len(shape))
    own[1 : len(shape) + 1] = shape
    rows = group.run("all_gather", own, (group.size() * own.size,)).reshape(group.size(), -1)
    if (rows != own).any():
        shapes = ", ".join(f"rank {r}: {row[1 : row[0] + 1].tolist()}" for r, row in zip(group.ranks, rows))
        raise ValueError(DIFFERENT.format(shapes=shapes))


def _part(x: Tensor) -> Tensor:
    """What this process has of a DTensor."""
    value = x._read()
    sharding, grid = sharding_of_tensor(x), sharding_of_tensor(x).mesh
    indices = list(sharding.indices(tuple(x.shape)))
    if value.recording is ABSENT:
        shape = [len(range(*i.indices(n))) for i, n in zip(indices[grid.here[0]], x.shape)] if grid.here else [0]
        return new_tensor(absent(aval(tuple(shape), x._aval.dtype)))
    if len({str(indices[i]) for i in grid.here}) > 1:
        raise RuntimeError(SEVERAL.format(what="to_local", n=len(grid.here), mesh=_mesh_of_grid(grid)))
    if not grid.here:
        return from_array(np.zeros(0, x._aval.dtype))  # a process outside of the mesh has nothing
    return new_tensor(from_numpy(xla.parts_here(value.data)[0]))


def _laid(x: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """A gradient, lying so; one that is no DTensor is the same in all processes."""
    whole = [Replicate() if isinstance(p, Partial) else p for p in placements]
    return _distributed(moved(x._read(), _sharding(mesh, whole)))


class _FromLocal(Function):
    @staticmethod
    def forward(ctx, local, mesh, placements, back, shape):
        """The tensor of the parts."""
        ctx.mesh, ctx.placements = mesh, placements if back is None else back
        return _from_parts(local, mesh, placements, shape)

    @staticmethod
    def backward(ctx, grad):
        """The parts of the gradient; of a summand it is whole."""
        return _part(_laid(grad, ctx.mesh, ctx.placements)), None, None, None, None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx, x, mesh, placements):
        """This process's part."""
        ctx.mesh, ctx.placements, ctx.shape = mesh, placements, x.shape
        return _part(x)

    @staticmethod
    def backward(ctx, grad):
        """The gradient of the parts' gradients."""
        return _from_parts(grad, ctx.mesh, ctx.placements, ctx.shape), None, None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx, x, sharding):
        """The tensor, lying so."""
        ctx.before = sharding_of_tensor(x)
        _check_even(x.shape, sharding)
        return _distributed(_laid_so(x._read(), sharding))

    @staticmethod
    def backward(ctx, grad):
        """The gradient, lying as the tensor did."""
        return _distributed(moved(grad._read(), ctx.before)), None


def _from_first(x: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """Copies of the tensor of the first process, along each dimension of the mesh where it is replicated."""
    x = x.clone()
    for dim, p in enumerate(placements):
        if isinstance(p, Replicate) and mesh.get_group(dim).size() > 1:
            group = mesh.get_group(dim)
            collectives.broadcast(x.detach(), group.ranks[0], group)
    return x


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """A tensor divided over a mesh: that of the mesh's process `src_data_rank`, or with None that of each.

    A leaf with its requires_grad. The parts are those of torch.chunk; ValueError for a dimension that is divided over
    two of the mesh and whose size is no multiple of their number.

    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(torch.arange(4.), mesh, [Shard(0)])
    >>> (x + 1).full_tensor()
    tensor([1., 2., 3., 4.])
    """
    mesh = _mesh(device_mesh)
    placements = _checked(placements or [Replicate()] * mesh.ndim, mesh, tensor.dim())
    if is_distributed(tensor):
        return tensor.redistribute(mesh, placements)
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    sharding = _sharding(mesh, placements)
    _check_even(tensor.shape, sharding)
    whole = tensor.detach()
    group = mesh.whole_group() if mesh.get_coordinate() is not None else None
    if src_data_rank is not None and group is not None and group.size() > 1 and not whole.is_meta:
        whole = whole.clone()
        collectives.broadcast(whole, group.ranks[src_data_rank], group)
    found = _distributed(_laid_so(whole._read(), sharding))
    return found.requires_grad_() if tensor.requires_grad else found


def distribute_module(
    module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable | None = None,
    input_fn: Callable | None = None,
    output_fn: Callable | None = None,
):
    """A module whose parameters and buffers are DTensors: as partition_fn(name, submodule, mesh) makes them, the
    others whole in every process. input_fn(module, inputs, mesh) and output_fn change what goes in and out.

    >>> from torch.distributed.tensor import distribute_module
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> model = distribute_module(nn.Linear(2, 1), mesh)
    >>> isinstance(model.weight.data, torch.distributed.tensor.DTensor)
    True
    """
    mesh = _mesh(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        replicate_members(part, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda mod, inputs: input_fn(mod, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda mod, inputs, outputs: output_fn(mod, outputs, mesh))
    return module


def replicate_members(module, mesh: DeviceMesh):
    """Make DTensors of a module's own parameters and buffers that are none."""
    for name, p in list(module._parameters.items()):
        if p is not None and not is_distributed(p):
            module.register_parameter(name, parameter_of(distribute_tensor(p.detach(), mesh), p))
    for name, b in list(module._buffers.items()):
        if b is not None and not is_distributed(b):
            module._buffers[name] = distribute_tensor(b, mesh)


def parameter_of(data: Tensor, like: Tensor) -> Tensor:
    """A parameter of this data."""
    return named("nn.Parameter")(data, requires_grad=like.requires_grad)


# ---- new tensors ---------------------------------------------------------------------------------


def _new(array: Callable[[tuple[int, ...]], Tensor], size, device_mesh, placements, requires_grad: bool) -> Tensor:
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    mesh = _mesh(device_mesh)
    sharding = _sharding(mesh, _checked(placements or [Replicate()] * mesh.ndim, mesh, len(shape)))
    _check_even(shape, sharding)
    found = _distributed(moved(array(shape)._read(), sharding))
    return found.requires_grad_() if requires_grad else found


def _maker(name: str, doc: str) -> Callable:
    def make(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None) -> Tensor:
        function = named(name)
        return _new(lambda shape: function(shape, dtype=dtype), size, device_mesh, placements, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{doc}

    >>> import torch.distributed.tensor as dt
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> dt.{name}(4, 2, device_mesh=mesh, placements=[dt.Shard(0)]).full_tensor().shape
    torch.Size([4, 2])
    """
    return make


zeros = _maker("zeros", "A DTensor of zeros.")
ones = _maker("ones", "A DTensor of ones.")
empty = _maker("empty", "A DTensor of any elements.")
rand = _maker("rand", "A DTensor uniform in [0, 1), each process's generator drawing the whole: seed all alike.")
randn = _maker("randn", "A DTensor of normal numbers, each process's generator drawing the whole: seed all alike.")


def full(size, fill_value, *, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """A DTensor of one number.

    >>> import torch.distributed.tensor as dt
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> dt.full((2,), 7., device_mesh=mesh, placements=[dt.Replicate()]).full_tensor()
    tensor([7., 7.])
    """
    function = named("full")
    made = lambda shape: function(shape, fill_value, dtype=dtype)  # noqa: E731
    return _new(made, size, device_mesh, placements, requires_grad)


# ---- saving -------------------------------------------------------------------------------------


def saved(tensor: Tensor) -> tuple[Any, ...]:
    """What pickles and torch.save keep: `restored` makes the same DTensor of, where the same processes are."""
    value, mesh = tensor._read(), _mesh_of_grid(sharding_of_tensor(tensor).mesh)
    parts = tuple([new_tensor(from_numpy(part)) for part in xla.parts_here(value.data)])
    dims = tuple([p.dim if isinstance(p, Shard) else None for p in placements_of(tensor)])
    where = mesh.device_type, mesh.mesh.tolist(), mesh.mesh_dim_names, mesh.get_rank()
    return parts, tuple(tensor.shape), dims, where, tensor.requires_grad, isinstance(tensor, named("nn.Parameter"))


def restored(parts, shape, dims, where, requires_grad: bool, is_parameter: bool) -> Tensor:
    """The DTensor of which this process saved its parts; RuntimeError where it has another place now."""
    device_type, ranks, names, rank = where
    mesh = DeviceMesh(device_type, ranks, mesh_dim_names=names)
    mesh = _mesh_of_grid(mesh.grid)
    placements = [Replicate() if dim is None else Shard(dim) for dim in dims]
    if any(p.is_shard() for p in placements) and mesh.get_rank() != rank:
        raise RuntimeError(OTHER_RANK.format(shape=tuple(shape), saved=rank, own=mesh.get_rank()))
    if len(parts) != len(mesh.grid.here):
        raise RuntimeError(OTHER_MESH.format(ranks=ranks, n=len(parts), own=len(mesh.grid.here)))
    arrays = [to_numpy(part.detach()._read()) for part in parts]
    found = _distributed(from_sharded(xla.put_parts(tuple(shape), _sharding(mesh, placements), arrays)))
    return named("nn.Parameter")(found, requires_grad) if is_parameter else found.requires_grad_(requires_grad)


# ---- what tensors have that lie on a mesh --------------------------------------------------------


class _OfDistributed:
    """A member of DTensors; AttributeError for other tensors, so that hasattr tells them apart."""

    def __init__(self, name: str, member: Any, is_method: bool):
        self.name, self.member, self.is_method = name, member, is_method

    def __get__(self, tensor, cls=None):
        if tensor is None:
            return self.member
        if not is_distributed(tensor):
            raise AttributeError(NOT_DISTRIBUTED.format(name=self.name))
        return self.member.__get__(tensor) if self.is_method else self.member(tensor)


add_members(
    {name: _OfDistributed(name, vars(DTensor)[name], True) for name in ("to_local", "redistribute", "full_tensor")}
    | {"device_mesh": _OfDistributed("device_mesh", mesh_of_tensor, False)}
    | {"placements": _OfDistributed("placements", placements_of, False)}
    | {"_local_tensor": _OfDistributed("_local_tensor", _part, False)}
)


class _Hooks:
    """What others ask of tensors on meshes, from the first one on."""

    @staticmethod
    def is_one(tensor: Tensor) -> bool:
        """Whether a tensor is one."""
        return is_distributed(tensor)

    @staticmethod
    def describe(tensor: Tensor) -> str:
        """A DTensor as text."""
        part = _part(tensor.detach())
        return f"DTensor(local_tensor={part!r}, device_mesh={device_mesh(tensor)}, placements={placements_of(tensor)})"

    saved = staticmethod(saved)

    @staticmethod
    def beside(tensor: Tensor, value: Value) -> Value:
        """A value that goes with a tensor, of its shape perhaps, lying as that does."""
        if not is_distributed(tensor):
            return value
        sharding = sharding_of_tensor(tensor)
        same = value.aval.shape == tuple(tensor.shape)
        return _laid_so(value, sharding if same else sharding.with_spec(xla.PartitionSpec()))

    @staticmethod
    def like(tensor: Tensor, made: Tensor) -> Tensor:
        """A new tensor, made like another, lying as that does."""
        return new_tensor(_Hooks.beside(tensor, made._read())) if is_distributed(tensor) else made

    @staticmethod
    def written(tensor: Tensor, new: Tensor) -> Tensor:
        """What is written over a tensor, lying as that does."""
        old = tensor._read()
        if old.__class__ is not Value or old.recording is not SHARDED:
            return new
        value, wanted = new._read(), sharding_of(old)
        if value.__class__ is not Value or sharding_of(value) == wanted:
            return new
        return new_tensor(moved(value, wanted), new._ge)


_hooks = _Hooks()
