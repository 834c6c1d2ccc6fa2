"""torch.distributed.fsdp.fully_shard: each process keeps a part of every parameter.

A parameter is a DTensor divided along its first dimension. Before a module computes, one program puts its parameters
together in every process; after its backward pass one program adds the gradients up and leaves each process its part.
In between they are ordinary tensors, and the module computes with the process's own batch what it always does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..... import xla
from .....engine import to_numpy
from .....engine.spmd import all_moved, all_summed, by_mesh
from .....engine.value import from_numpy, from_sharded
from ....levels.function import Function
from ....tape.saved import saved_tensors_hooks
from ....tensors.base import Tensor, new_tensor
from ....tensors.pytree import tree_map
from ....tensors.types import named
from .. import collectives
from ..device_mesh import DeviceMesh, _mesh_of_grid, init_device_mesh
from ..group import default, init_process_group, is_initialized
from ..tensor.api import DTensor, distribute_tensor, is_distributed, parameter_of, sharding_of_tensor
from ..tensor.placement_types import Replicate, Shard

OFFLOAD = "fully_shard: CPUOffloadPolicy is not implemented for a mesh of {device}; leave it out"
DIMENSIONS = "fully_shard expects a 1D or 2D DeviceMesh but got {mesh}"
NO_PARENT = (
    "fully_shard: a parameter lies on {other}, which is not of one DeviceMesh with {mesh}; make both of one: "
    "init_device_mesh('cpu', (2, 2), mesh_dim_names=('dp', 'tp')), mesh['dp'], mesh['tp']"
)


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """param_dtype: what modules compute in; reduce_dtype: in what gradients are added up (None: as they come);
    output_dtype: what they give; cast_forward_inputs: whether floating inputs become param_dtype.

    >>> from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    >>> policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=torch.float32)
    >>> model = fully_shard(nn.Linear(2, 1), mp_policy=policy)
    >>> model(torch.ones(1, 2)).dtype
    torch.float32
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """No offloading.

    >>> from torch.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy
    >>> issubclass(CPUOffloadPolicy, OffloadPolicy)
    True
    """


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters in the host's memory, where those of CPUs are without it.

    >>> from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
    >>> model = fully_shard(nn.Linear(2, 1), offload_policy=CPUOffloadPolicy(pin_memory=False))
    >>> model(torch.ones(1, 2)).shape
    torch.Size([1, 1])
    """

    pin_memory: bool = True


NO_POLICY = MixedPrecisionPolicy()


class UnshardHandle:
    """Of unshard(async_op=True).

    >>> from torch.distributed.fsdp import fully_shard
    >>> model = fully_shard(nn.Linear(2, 1))
    >>> model.unshard(async_op=True).wait()
    """

    def wait(self):
        """Nothing: it is done."""


# ---- the parameters of one module ----------------------------------------------------------------


class _Group:
    """The parameters that one module puts together and takes apart."""

    def __init__(self, mesh: DeviceMesh, policy: MixedPrecisionPolicy, reshard_after_forward: bool):
        self.mesh, self.policy, self.reshard_after_forward = mesh, policy, reshard_after_forward
        self.places: list[tuple[Any, str]] = []
        self.sharded: list[Tensor] = []
        self.whole: list[Tensor] | None = None  # while the module computes
        self.again: list[Tensor] | None = None  # put together once more, in the backward pass
        self.saved: dict[int, int] = {}  # id of a whole parameter -> its number
        self.divide_by: float | None = None
        self.versions: list[int] = []  # of the parts that were put together
        self.hook: Callable | None = None  # what adds gradients up in place of a program, with its state
        self.whole_hook = False  # whether parameters are not divided, and it is called with gradients alone
        self.is_synced = True  # whether a backward pass adds gradients up over the processes, or keeps them whole
        self.kept: list[Tensor | None] = []  # whole gradients, kept until one does
        self.after: Callable | None = None  # what changes this process's parts of gradients, flat, in place

    def add(self, module, name: str, p: Tensor):
        """Take charge of a parameter."""
        self.places.append((module, name))
        self.sharded.append(p)

    def _set(self, tensors: list[Tensor]):
        for (module, name), tensor in zip(self.places, tensors):
            module._parameters[name] = tensor

    def _follow(self):
        """Take what the modules have in place of parameters that were exchanged (to_empty, assign=True)."""
        if self.whole is None:
            self.sharded = [module._parameters[name] for module, name in self.places]

    def gather(self) -> list[Tensor]:
        """The whole parameters, without history."""
        cast = self.policy.param_dtype
        parts = [p.detach() if cast is None else p.detach().to(cast) for p in self.sharded]
        values = [p._read() for p in parts]
        wanted = [_without(sharding_of_tensor(p), self.mesh) for p in parts]
        return [_here(w, self.mesh) for w in _for_each_mesh(all_moved, values, wanted)]

    def unshard(self):
        """Let the modules have whole parameters."""
        self._follow()
        versions = [p._version for p in self.sharded]
        if self.sharded and (self.whole is None or versions != self.versions):
            found = _Whole.apply(self, *self.sharded)
            self.whole, self.versions = list(found), versions
            self.saved = {id(t): i for i, t in enumerate(self.whole)}
            self._set(self.whole)

    def reshard(self):
        """Let the modules have their parts again."""
        if self.whole is not None:
            self.whole = None
            self._set(self.sharded)

    def pack(self, tensor: Tensor):
        """A tensor saved for the backward pass: of a whole parameter its number."""
        i = self.saved.get(id(tensor))
        return tensor if i is None else i

    def unpack(self, saved) -> Tensor:
        """The tensor again."""
        if isinstance(saved, Tensor):
            return saved
        if self.again is None:
            self.again = self.gather()
        return self.again[saved]

    def reduce(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """The means over the processes of the gradients of whole parameters, each process its part."""
        self.again = None
        self.reshard()
        grads = [_sum(kept, grad) for kept, grad in zip(self.kept or [None] * len(grads), grads)]
        self.kept = [] if self.is_synced else [None if g is None else g.detach() for g in grads]
        if not self.is_synced:
            return [None] * len(grads)
        out = self._reduced(grads)
        if self.after is not None:
            self._apply(self.after, out)
        return out

    def _reduced(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        used = [i for i, g in enumerate(grads) if g is not None]
        if self.hook is not None:
            return self._by_hook(grads, used)
        shardings = [sharding_of_tensor(self.sharded[i]) for i in used]
        n = self.divide_by or self.mesh.size()
        dtype = self.policy.reduce_dtype
        stacked = [_stacked(grads[i] if dtype is None else grads[i].to(dtype), self.mesh, n) for i in used]
        out: list[Tensor | None] = [None] * len(grads)
        for i, value in zip(used, _for_each_mesh(all_summed, stacked, shardings)):
            out[i] = new_tensor(value).to(self.sharded[i].dtype)
        return out

    def _apply(self, hook: Callable, grads: list[Tensor | None]):
        """Let a hook change this process's parts of gradients, all in one flat tensor."""
        places = [i for i, g in enumerate(grads) if g is not None]
        parts = [grads[i].to_local() for i in places]
        if not parts:
            return
        flat = named("cat")([part.reshape(-1) for part in parts])
        hook(flat)
        for i, part, new in zip(places, parts, flat.split([part.numel() for part in parts])):
            whole = grads[i]
            placements, mesh = whole.placements, whole.device_mesh
            grads[i] = DTensor.from_local(new.reshape(part.shape).to(part.dtype), mesh, placements, shape=whole.shape)

    def _by_hook(self, grads: list[Tensor | None], used: list[int]) -> list[Tensor | None]:
        """The same by a hook: of one flat gradient in which each process's parts of all parameters lie together."""
        n, out, out_dtype = self.mesh.size(), list(grads), self.policy.reduce_dtype
        divided = [i for i in used if any(p.is_shard() for p in self.sharded[i].placements)]
        rows = [_padded_rows(grads[i] if out_dtype is None else grads[i].to(out_dtype), n) for i in divided]
        if rows:
            flat = named("cat")(rows, 1).reshape(-1)
            output = flat[: len(flat) // n].clone()
            self.hook(flat, output)
            parts = output.split([r.shape[1] for r in rows])
        for k, i in enumerate(divided):
            p = self.sharded[i]
            part = p.to_local()
            local = parts[k][: part.numel()].reshape(part.shape).to(p.dtype)
            out[i] = DTensor.from_local(local, self.mesh, p.placements, shape=p.shape)
        for i in set(used) - set(divided):
            p, whole = self.sharded[i], grads[i].detach().clone()
            flat = whole.reshape(-1)
            self.hook(flat) if self.whole_hook else collectives.all_reduce(flat.div_(n), group=self.mesh.whole_group())
            out[i] = DTensor.from_local(flat.reshape(p.shape).to(p.dtype), self.mesh, p.placements)
        return out


def _sum(kept: Tensor | None, grad: Tensor | None) -> Tensor | None:
    return grad if kept is None else kept if grad is None else kept + grad


def _padded_rows(grad: Tensor, n: int) -> Tensor:
    """A gradient whose parts for n processes are rows, with zeros behind those that are shorter."""
    size = -(-len(grad) // n) * n
    padded = grad.new_zeros((size, *grad.shape[1:]))
    padded[: len(grad)] = grad.detach()
    return padded.reshape(n, -1)


class _Whole(Function):
    """All parameters of a group put together; the gradients are added up and divided."""

    @staticmethod
    def forward(ctx, group: _Group, *sharded: Tensor):
        """The whole parameters."""
        ctx.group = group
        ctx.set_materialize_grads(False)
        return tuple(group.gather())

    @staticmethod
    def backward(ctx, *grads):
        """This process's parts of the mean gradients."""
        return None, *ctx.group.reduce(list(grads))


def _for_each_mesh(function: Callable, values: list, shardings: list[xla.NamedSharding]) -> list:
    """function(values, shardings) for those on each mesh: one program each."""
    out: list = [None] * len(values)
    for places in by_mesh(values):
        found = function([values[i] for i in places], [shardings[i] for i in places])
        for i, value in zip(places, found):
            out[i] = value
    return out


def _without(sharding: xla.NamedSharding, mesh: DeviceMesh) -> xla.NamedSharding:
    """The sharding of what is not divided over the axes of a mesh any more."""
    ours = set(mesh.grid.axis_names)
    dims = [tuple([a for a in sharding.spec.axes(d) if a not in ours]) for d in range(len(sharding.spec))]
    return sharding.with_spec(xla.PartitionSpec(*[d or None for d in dims]))


def _stacked(grad: Tensor, mesh: DeviceMesh, n: float):
    """Gradients of all processes divided by n: a first dimension that is divided over the mesh's."""
    if is_distributed(grad):  # of a parameter that is divided in another way, too
        return _stacked_on_rest(grad, mesh, n)
    part = to_numpy((grad.detach() / n)._read())
    axes = mesh.grid.axis_names
    sharding = xla.NamedSharding(mesh.grid, xla.PartitionSpec(axes if len(axes) > 1 else axes[0]))
    shape = (mesh.size(), *part.shape)
    return from_sharded(xla.put_parts(shape, sharding, [part[None]] * len(mesh.grid.here)))


# ---- with tensor parallelism: a mesh of both -----------------------------------------------------


def _both(mesh: DeviceMesh, other: DeviceMesh) -> DeviceMesh:
    """The mesh of the dimensions of two."""
    root = mesh._parent
    if (
        root is None
        or mesh.mesh_dim_names is None
        or not set(other.mesh_dim_names or "?") <= set(root.mesh_dim_names or ())
    ):
        raise ValueError(NO_PARENT.format(other=other, mesh=mesh))
    return root[(*mesh.mesh_dim_names, *(other.mesh_dim_names or ()))]


def _rest(grid: xla.Mesh, mesh: DeviceMesh) -> DeviceMesh:
    """The mesh of the other dimensions of a grid, in which this process is."""
    whole = _mesh_of_grid(grid)
    return whole[tuple([a for a in grid.axis_names if a not in mesh.grid.axis_names])]


def _here(value, mesh: DeviceMesh) -> Tensor:
    """A parameter that is whole along a mesh: an ordinary tensor, or one over the other dimensions alone."""
    sharding = value.data._sharding.named
    if sharding.mesh == mesh.grid:
        return new_tensor(from_numpy(xla.to_numpy(value.data)))
    rest = _rest(sharding.mesh, mesh)
    over = xla.NamedSharding(rest.grid, sharding.spec)
    part = xla.parts_here(value.data)[0]
    return new_tensor(from_sharded(xla.put_parts(value.aval.shape, over, [part])))


def _stacked_on_rest(grad: Tensor, mesh: DeviceMesh, n: float):
    sharding = sharding_of_tensor(grad)
    both = _both(mesh, _mesh_of_grid(sharding.mesh))
    part = xla.parts_here((grad.detach() / n)._read().data)[0]
    axes = mesh.grid.axis_names
    spec = xla.PartitionSpec(axes if len(axes) > 1 else axes[0], *sharding.spec)
    over = xla.NamedSharding(both.grid, spec)
    return from_sharded(xla.put_parts((mesh.size(), *grad.shape), over, [part[None]]))


def _divided_further(p: Tensor, mesh: DeviceMesh, dim: int) -> Tensor:
    """A parameter over another mesh, divided over this one, too."""
    before = sharding_of_tensor(p)
    both = _both(mesh, _mesh_of_grid(before.mesh))
    axis = mesh.grid.axis_names[-1]
    dims = [before.spec.axes(d) for d in range(max(len(before.spec), dim + 1))]
    divided = list(dims)
    divided[dim] = (*dims[dim], axis)
    specs = [xla.PartitionSpec(*[d or None for d in found]) for found in (dims, divided)]
    kept, wanted = (xla.NamedSharding(both.grid, spec) for spec in specs)
    part = xla.parts_here(p.detach()._read().data)[0]
    value = from_sharded(xla.put_parts(tuple(p.shape), kept, [part]))
    if p.shape[dim] % wanted.parts(dim):
        return new_tensor(value)
    return new_tensor(*all_moved([value], [wanted]))


# ---- modules -------------------------------------------------------------------------------------


class FSDPModule:
    """What a module is beside its class after fully_shard.

    >>> from torch.distributed.fsdp import FSDPModule, fully_shard
    >>> isinstance(fully_shard(nn.Linear(2, 1)), FSDPModule)
    True
    """

    _fsdp_group: _Group

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Put the parameters of this module together."""
        self._fsdp_group.unshard()
        return UnshardHandle() if async_op else None

    def reshard(self):
        """Keep this process's parts alone."""
        self._fsdp_group.reshard()

    def set_gradient_divide_factor(self, factor: float):
        """Divide sums of gradients by this, in place of the number of processes."""
        self._fsdp_group.divide_by = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True):
        """Whether whole parameters are freed between the forward and the backward pass."""
        for group in _groups(self, recurse):
            group.reshard_after_forward = reshard_after_forward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True):
        """Whether backward passes add gradients up over the processes; until they do whole ones are kept."""
        for group in _groups(self, recurse):
            group.is_synced = requires_gradient_sync

    def set_all_reduce_hook(self, hook: Callable[[Tensor], None], *, stream=None):
        """Call hook(gradients) with this process's parts of this module's mean gradients, a flat tensor, which it may
        change in place: to reduce them among other processes, too.

        >>> from torch.distributed.fsdp import fully_shard
        >>> model = fully_shard(nn.Linear(2, 1, bias=False))
        >>> model.set_all_reduce_hook(lambda gradients: gradients.mul_(10))
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> model.weight.grad.to_local()
        tensor([[10., 10.]])
        """
        self._fsdp_group.after = hook

    def _no_effect(self, *args, **kwargs):
        """No effect: nothing is fetched ahead, and each step waits for what it needs."""

    set_is_last_backward = set_requires_all_reduce = set_reshard_after_backward = set_post_optim_event = _no_effect
    set_modules_to_forward_prefetch = set_modules_to_backward_prefetch = set_unshard_in_backward = _no_effect
    set_allocate_memory_from_process_group_for_comm = set_force_sum_reduction_for_comms = _no_effect


def _groups(module, recurse: bool = True) -> Iterator[_Group]:
    for part in module.modules() if recurse else [module]:
        group = part.__dict__.get("_fsdp_group")
        if group is not None:
            yield group


def fully_shard(
    module,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable | None = None,
    mp_policy: MixedPrecisionPolicy = NO_POLICY,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set | None = None,
    dp_mesh_dims=None,
):
    """Divide the parameters of a module over the processes of a mesh, all of them or those of one dimension; of two
    dimensions the first has copies. To be called on the layers first, then on the whole: what was divided stays.

    shard_placement_fn(parameter): Shard(dim) for another dimension than the first. Where its size is no multiple of the
    number of processes the last ones have less. A list of modules is one group.

    >>> from torch.distributed.fsdp import fully_shard
    >>> model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> for layer in model: _ = fully_shard(layer)
    >>> model = fully_shard(model)
    >>> model(torch.ones(3, 2)).sum().backward()
    >>> isinstance(model[0].weight.grad, torch.distributed.tensor.DTensor), model[0].weight.shape
    (True, torch.Size([4, 2]))
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    mesh = _whole_world() if mesh is None else mesh
    if mesh.ndim > 2:
        raise ValueError(DIMENSIONS.format(mesh=mesh))
    if isinstance(offload_policy, CPUOffloadPolicy) and mesh.device_type != "cpu":
        raise NotImplementedError(OFFLOAD.format(device=mesh.device_type))
    group = _Group(mesh, mp_policy, True if reshard_after_forward is None else bool(reshard_after_forward))
    _take(group, modules, lambda p: _divided(p, mesh, shard_placement_fn), ignored_params or ())
    for m in modules:
        cls = type(m)
        m.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})
        _hook(m, group)
    return module


def _take(group: _Group, modules: list, divided: Callable[[Tensor], Tensor], ignored):
    """Divide the parameters of modules that no group has, nor is to have."""
    taken = {id(p) for m in modules for g in _groups(m) for p in g.sharded} | {id(p) for p in ignored}
    made: dict[int, Tensor] = {}  # parameters that are shared stay so
    for part in (inner for m in modules for inner in m.modules()):
        for name, p in list(part._parameters.items()):
            if p is None or id(p) in taken:
                continue
            if id(p) not in made:
                made[id(p)] = divided(p)
            part.register_parameter(name, made[id(p)])
            group.add(part, name, made[id(p)])


def _whole_world() -> DeviceMesh:
    if not is_initialized():
        init_process_group()
    return init_device_mesh("cpu", (default().size(),))


def _divided(p: Tensor, mesh: DeviceMesh, shard_placement_fn: Callable | None) -> Tensor:
    placement = None if shard_placement_fn is None else shard_placement_fn(p)
    dim = (placement.dim if placement is not None else 0) % max(p.dim(), 1)
    if is_distributed(p):
        return parameter_of(_divided_further(p, mesh, dim), p)
    placements = [Replicate()] * (mesh.ndim - 1) + [Shard(dim) if p.dim() else Replicate()]
    return parameter_of(distribute_tensor(p.detach(), mesh, placements), p)


def _hook(module, group: _Group):
    """Let a module have whole parameters while it computes."""
    module._fsdp_group, forward = group, module.forward

    @functools.wraps(forward)
    def computed(*args, **kwargs):
        if not group.reshard_after_forward:
            return forward(*args, **kwargs)
        with saved_tensors_hooks(group.pack, group.unpack):
            return forward(*args, **kwargs)

    def enter(module, args, kwargs):
        group.unshard()
        policy = group.policy
        if policy.param_dtype is None or not policy.cast_forward_inputs:
            return None
        return tree_map(lambda x: _cast(x, policy.param_dtype), (args, kwargs))

    def leave(module, args, out):
        if group.reshard_after_forward:
            group.reshard()
        wanted = group.policy.output_dtype
        return out if wanted is None else tree_map(lambda x: _cast(x, wanted), out)

    module.forward = computed
    module.register_forward_pre_hook(enter, prepend=True, with_kwargs=True)
    module.register_forward_hook(leave, always_call=True)


def _cast(x, dtype):
    return x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x


def register_fsdp_forward_method(module, method_name: str):
    """Let a method put parameters together as forward does.

    >>> from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
    >>> class Net(nn.Linear):
    ...   def predict(self, x):
    ...     return self.weight.sum()
    >>> model = fully_shard(Net(2, 1))
    >>> register_fsdp_forward_method(model, "predict")
    >>> model.predict(torch.ones(1, 2)).shape
    torch.Size([])
    """
    if not isinstance(module, FSDPModule):
        return
    method, group = getattr(module, method_name), module._fsdp_group

    @functools.wraps(method)
    def computed(*args, **kwargs):
        group.unshard()
        try:
            return method(*args, **kwargs)
        finally:
            if group.reshard_after_forward:
                group.reshard()

    setattr(module, method_name, computed)
