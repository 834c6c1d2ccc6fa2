"""torch.distributed.fsdp.FullyShardedDataParallel: the older wrapper, over what fully_shard is made of.

A wrapper has the parameters that are inside of it and in no inner wrapper. They keep their names and shapes and are
DTensors: `use_orig_params=False` makes no flat parameter of them.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .....nn import Module, utils
from .... import _missing
from ....tape.modes import no_grad
from ....tensors.base import Tensor
from ....tensors.pytree import tree_map
from ....tensors.types import by_name
from .. import collectives
from ..checkpoint.state_dict import StateDictOptions, _by_number, _like, _plain, get_optimizer_state_dict
from ..device_mesh import DeviceMesh, init_device_mesh
from ..group import ProcessGroup, default
from ..tensor.api import DTensor, distribute_tensor, is_distributed, parameter_of
from ..tensor.placement_types import Replicate
from ._fully_shard import OFFLOAD, MixedPrecisionPolicy, _divided, _Group, _groups, _hook, _take
from .api import (  # noqa: F401  programs import all of them from here
    CONFIGS,
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import wrap_inside

WRAPPED = "_fsdp_wrapped_module"
HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
KEEPS = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
NOT_BOTH = "Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them."
NOT_A_PAIR = "Expected device_mesh to have ndim=2 but got {ndim}"
ON_ONE = "writeback=True and rank0_only=True is not supported, as it would make the processes' parameters different"
ROOT_ONLY = "`clip_grad_norm_()` should only be called on the root FSDP instance"
HOOK_OF_ROOT = "register_comm_hook can only be called on a root instance."
HOOK_TWICE = "A communication hook is already registered"
HOOK_OF_HYBRID = "Communication hook is not supported for hybrid strategies."
NO_CONFIG = "Expected state_dict_config of type {wanted} but got {config}"


def _mesh(given, strategy: ShardingStrategy) -> DeviceMesh:
    """The processes of a wrapper: of two dimensions for the hybrid strategies, copies and parts."""
    world = default().size()
    if isinstance(given, DeviceMesh):
        if strategy in HYBRID and given.ndim != 2:
            raise ValueError(NOT_A_PAIR.format(ndim=given.ndim))
        return given
    if strategy in HYBRID:
        if given is None:
            n = int(os.environ.get("LOCAL_WORLD_SIZE", world))
            return init_device_mesh("cpu", (world // n, n), mesh_dim_names=("replicate", "shard"))
        every: list = [None] * world
        collectives.all_gather_object(every, tuple(given[0].ranks))
        return DeviceMesh("cpu", sorted(set(every)), mesh_dim_names=("replicate", "shard"))
    return init_device_mesh("cpu", (world,)) if given is None else DeviceMesh.from_group(given, "cpu")


def _policy(given: MixedPrecision | None, is_root: bool) -> MixedPrecisionPolicy:
    if given is None:
        return MixedPrecisionPolicy()
    cast = given.cast_forward_inputs or (is_root and given.cast_root_forward_inputs)
    return MixedPrecisionPolicy(given.param_dtype, given.reduce_dtype, None, cast)


def _materialize(module, init: Callable | None):
    """Give parameters that are on the meta device values: init(module), or their modules' reset_parameters."""
    for part in list(module.modules()):
        if not any(p.is_meta for p in part.parameters(recurse=False)):
            continue
        if init is not None:
            init(part)
            continue
        part.to_empty(device="cpu", recurse=False)
        with no_grad():
            part.reset_parameters()


class FullyShardedDataParallel(Module):
    """Calls its module, each process keeping a part of every parameter between the calls.

    The parameters begin as those of the first process. `sharding_strategy`: see ShardingStrategy; `mixed_precision`:
    see MixedPrecision; `auto_wrap_policy`: which modules inside become wrappers, see torch.distributed.fsdp.wrap;
    `ignored_states`: parameters, or modules (`ignored_modules`) that stay as they are; `device_mesh` or
    `process_group`: the processes, all by default. What says when to communicate has no effect.
    ValueError before init_process_group.

    >>> import torch.distributed as dist
    >>> from torch.distributed.fsdp import FullyShardedDataParallel
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = FullyShardedDataParallel(nn.Linear(2, 1))
    >>> model(torch.ones(1, 2)).sum().backward()
    >>> model.weight.grad.full_tensor(), list(model.state_dict())
    (tensor([[1., 1.]]), ['weight', 'bias'])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | tuple[ProcessGroup, ProcessGroup] | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable | None = None,
        device_mesh: DeviceMesh | None = None,
    ):
        super().__init__()
        if process_group is not None and device_mesh is not None:
            raise ValueError(NOT_BOTH)
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = _mesh(device_mesh or process_group, self.sharding_strategy)
        if cpu_offload is not None and cpu_offload.offload_params and mesh.device_type != "cpu":
            raise NotImplementedError(OFFLOAD.format(device=mesh.device_type))
        self._is_root, self._settings, self.mixed_precision = True, StateDictSettings(), mixed_precision
        self._summoned = False
        left_out, ignored = _ignored(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            options: dict[str, Any] = {
                "sharding_strategy": sharding_strategy,
                "cpu_offload": cpu_offload,
                "device_mesh": mesh,
            }
            options |= {"mixed_precision": mixed_precision, "param_init_fn": param_init_fn, "ignored_states": ignored}
            self._wrap_inside(module, auto_wrap_policy, options, left_out)
        _materialize(module, param_init_fn)
        if sync_module_states:
            for b in module.buffers():
                collectives.broadcast(b.detach(), mesh.whole_group().ranks[0], mesh.whole_group())
        if mixed_precision is not None and mixed_precision.buffer_dtype is not None:
            _cast_buffers(module, mixed_precision.buffer_dtype)
        for inner in self.fsdp_modules(module):
            inner._is_root = False
            inner._fsdp_group.policy = _policy(inner.mixed_precision, False)
        self._modules[WRAPPED] = module
        self._divide(mesh, ignored)
        self._register_state_dict_hook(_leaving)
        self._register_load_state_dict_pre_hook(_entering, with_module=True)

    def _divide(self, mesh: DeviceMesh, ignored: set):
        """Divide the parameters that no inner wrapper has, and put them together when this module computes."""
        group = _Group(mesh, _policy(self.mixed_precision, True), self.sharding_strategy not in KEEPS)
        whole = self.sharding_strategy is ShardingStrategy.NO_SHARD

        def divided(p: Tensor) -> Tensor:
            if not whole:
                return _divided(p, mesh, None)
            return parameter_of(distribute_tensor(p.detach(), mesh, [Replicate()] * mesh.ndim), p)

        _take(group, [self], divided, ignored)
        _hook(self, group)

    def _wrap_inside(self, module: Module, policy: Any, options: dict, left_out: set[Module]):
        def wrapper(inner: Module, **more: Any) -> FullyShardedDataParallel:
            return FullyShardedDataParallel(inner, **{**options, **more})

        mixed = options["mixed_precision"]
        if mixed is not None and mixed._module_classes_to_ignore and mixed.param_dtype is not None:
            for name, part in list(module.named_modules()):
                if isinstance(part, tuple(mixed._module_classes_to_ignore)) and name:
                    whole = wrapper(part, mixed_precision=None)
                    whole._fsdp_group.policy = _in_float32(mixed)
                    parent, _, last = name.rpartition(".")
                    module.get_submodule(parent)._modules[last] = whole
        wrap_inside(module, policy, wrapper, lambda m: m in left_out or isinstance(m, FullyShardedDataParallel))

    # ---- the module inside

    @property
    def module(self) -> Module:
        """The module that is wrapped."""
        return self._modules[WRAPPED]

    def __getattr__(self, name: str):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == WRAPPED or "_modules" not in self.__dict__:
                raise
            return getattr(self._modules[WRAPPED], name)

    def __getitem__(self, key: int):
        return self.module.__getitem__(key)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self.module(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """(path, parameter); inside of summon_full_params without what wrappers put into the path."""
        return self._shown(super().named_parameters(*args, **kwargs))

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """(path, buffer); inside of summon_full_params without what wrappers put into the path."""
        return self._shown(super().named_buffers(*args, **kwargs))

    def _shown(self, members: Iterator) -> Iterator:
        for name, member in members:
            yield (name.replace(f"{WRAPPED}.", "") if self._summoned else name), member

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """Call fn on every module below, then on this one, with whole parameters."""
        if self._summoned:
            return super().apply(fn)
        with self.summon_full_params(self):
            return super().apply(fn)

    def check_is_root(self) -> bool:
        """Whether it is in no other wrapper."""
        return self._is_root

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a module, itself among them; with root_only those that are in no other."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return [m for m in found if m.check_is_root()] if root_only else found

    # ---- training

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients of all processes to a total norm of at most max_norm; what it was."""
        if not self.check_is_root():
            raise RuntimeError(ROOT_ONLY)
        total = utils.clip_grad_norm_(list(self.parameters()), max_norm, norm_type)
        return total.full_tensor() if is_distributed(total) else total

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """No effect: sums of averaged gradients are what averages of sums are."""
        yield

    def register_comm_hook(self, state: object, hook: Callable):
        """Have gradients added up by hook(state, gradient, output), see algorithms._comm_hooks.default_hooks. output
        gets this process's part of the flat gradient of a wrapper's parameters. NO_SHARD: hook(state, gradient), in
        place. AssertionError for the hybrid strategies, a second hook, and a wrapper inside of another."""
        if not self.check_is_root():
            raise AssertionError(HOOK_OF_ROOT)
        for wrapper in self.fsdp_modules(self):
            group = wrapper._fsdp_group
            if group.hook is not None:
                raise AssertionError(HOOK_TWICE)
            if wrapper.sharding_strategy in HYBRID:
                raise AssertionError(HOOK_OF_HYBRID)
            group.hook = functools.partial(hook, state)
            group.whole_hook = wrapper.sharding_strategy is ShardingStrategy.NO_SHARD

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside of it parameters are whole ordinary ones, with_grads with their gradients. What is written to them
        stays (each process keeps its part of what it has), unless writeback=False."""
        if writeback and rank0_only:
            raise NotImplementedError(ON_ONE)
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        groups = list(_groups(module, recurse))
        wholes = [_summon(group, with_grads) for group in groups]
        here = not rank0_only or default().global_rank == 0
        for group, whole in zip(groups, wholes):
            group._set(whole if here else group.sharded)
        for wrapper in wrappers:
            wrapper._summoned = True
        try:
            yield
        finally:
            for wrapper in wrappers:
                wrapper._summoned = False
            for group, whole in zip(groups, wholes):
                group._set(group.sharded)
                if writeback:
                    _write_back(group, whole, with_grads)

    # ---- states

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Set what state_dict of the wrappers in a module gives and load_state_dict takes; what was set before."""
        kinds = CONFIGS[state_dict_type]
        given = (state_dict_config, optim_state_dict_config)
        for kind, config in zip(kinds, given):
            if config is not None and not isinstance(config, kind):
                raise RuntimeError(NO_CONFIG.format(wanted=kind, config=type(config)))
        settings = StateDictSettings(state_dict_type, *[c or kind() for kind, c in zip(kinds, given)])
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for wrapper in FullyShardedDataParallel.fsdp_modules(module):
            wrapper._settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """What was set by set_state_dict_type."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        return wrappers[0]._settings if wrappers else StateDictSettings()

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """set_state_dict_type, inside of it."""
        cls = FullyShardedDataParallel
        before = cls.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            for wrapper in cls.fsdp_modules(module):
                wrapper._settings = before

    @staticmethod
    def optim_state_dict(model: Module, optim: Any, optim_state_dict: dict | None = None, group: Any = None) -> dict:
        """The state of an optimizer by the names of parameters, as set_state_dict_type says."""
        if optim_state_dict is None:
            state = get_optimizer_state_dict(model, optim)
        else:
            state = _named(optim_state_dict, _names_in_order(model, optim))
        return _as_set(state, FullyShardedDataParallel.get_state_dict_type(model), "optim_state_dict_config")

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict,
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict:
        """What optim.load_state_dict takes, of what optim_state_dict gave: each process its parts. With rank0_only
        the first process's counts."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        if getattr(settings.optim_state_dict_config, "rank0_only", False):
            optim_state_dict = _of_first(optim_state_dict)
        found = _by_number(model, optim, optim_state_dict, StateDictOptions())
        if load_directly:
            optim.load_state_dict(found)
        return found

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict:
        """The whole state of an optimizer, with rank0_only in the first process alone."""
        config = FullOptimStateDictConfig(rank0_only=rank0_only)
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, None, config):
            return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> dict:
        """The state of an optimizer as DTensors."""
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict, model: Module, optim_input: Any = None, optim: Any = None
    ) -> dict:
        """What optim.load_state_dict takes, of a whole state that all processes have."""
        return _by_number(model, optim, full_optim_state_dict, StateDictOptions())

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict | None, model: Module, optim_input: Any = None, optim: Any = None, group: Any = None
    ) -> dict:
        """What optim.load_state_dict takes, of a whole state of the first process."""
        return _by_number(model, optim, _of_first(full_optim_state_dict), StateDictOptions())

    @staticmethod
    def flatten_sharded_optim_state_dict(sharded_optim_state_dict: dict, model: Module, optim: Any) -> dict:
        """What optim.load_state_dict takes, of a state of DTensors."""
        return _by_number(model, optim, sharded_optim_state_dict, StateDictOptions())

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict,
        optim_state_key_type: OptimStateKeyType,
        model: Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict:
        """A whole state of an optimizer by names or by numbers, of one by the other."""
        names = _names_in_order(model, optim)
        if optim_state_key_type is OptimStateKeyType.PARAM_NAME:
            return _named(optim_state_dict, names)
        return _named(optim_state_dict, {name: i for i, name in enumerate(names)})


def _ignored(modules: Iterable[Module] | None, states: Iterable | None) -> tuple[set[Module], set[Tensor]]:
    """(modules, parameters) that stay as they are."""
    given = [*(modules or ()), *(states or ())]
    inside = {m for thing in given if isinstance(thing, Module) for m in thing.modules()}
    parameters = {thing for thing in given if isinstance(thing, Tensor)}
    return inside, parameters.union(p for m in inside for p in m.parameters(recurse=False))


def _in_float32(mixed: MixedPrecision) -> MixedPrecisionPolicy:
    return MixedPrecisionPolicy(by_name["float32"], None, mixed.param_dtype, True)


def _cast_buffers(module: Module, dtype: Any):
    inner = {part for wrapper in FullyShardedDataParallel.fsdp_modules(module) for part in wrapper.modules()}
    for part in set(module.modules()) - inner:
        for name, b in part._buffers.items():
            if b is not None and b.is_floating_point():
                part._buffers[name] = b.to(dtype)


# ---- whole parameters ----------------------------------------------------------------------------


def _summon(group: _Group, with_grads: bool) -> list[Tensor]:
    """The whole parameters of a group, as parameters."""
    group.reshard()
    found = [parameter_of(DTensor.full_tensor(p.detach()), p) for p in group.sharded]
    for whole, p in zip(found, group.sharded):
        if with_grads and p.grad is not None:
            whole.grad = p.grad.full_tensor()
    return found


def _write_back(group: _Group, wholes: list[Tensor], with_grads: bool):
    """Let each process keep its part of whole parameters."""
    grads = [(whole.grad, p.grad) for whole, p in zip(wholes, group.sharded)] if with_grads else []
    grads = [(whole, grad) for whole, grad in grads if whole is not None and grad is not None]
    with no_grad():
        for whole, p in zip(wholes, group.sharded):
            p.copy_(_like(whole, p))
        for whole, grad in grads:
            grad.copy_(_like(whole, grad))


# ---- states --------------------------------------------------------------------------------------


def _converted(x: Any, kind: StateDictType) -> Any:
    """A DTensor as a state of that kind has it."""
    if not is_distributed(x) or kind is StateDictType.SHARDED_STATE_DICT:
        return x
    return x.to_local() if kind is StateDictType.LOCAL_STATE_DICT else x.full_tensor()


def _as_set(state: Any, settings: StateDictSettings, config: str) -> Any:
    """A state as set_state_dict_type says."""
    state = tree_map(lambda x: _converted(x, settings.state_dict_type), state)
    first_alone = getattr(getattr(settings, config), "rank0_only", False)
    return {} if first_alone and default().global_rank else state


def _leaving(module: FullyShardedDataParallel, state: dict, prefix: str, metadata: Any):
    """state_dict: names without the wrapper's, tensors as they are wanted."""
    inner = f"{prefix}{WRAPPED}."
    own = {name: state.pop(name) for name in list(state) if name.startswith(inner)}
    found = _as_set(own, module._settings, "state_dict_config")
    state.update({prefix + name[len(inner) :]: x for name, x in found.items()})


def _entering(module: FullyShardedDataParallel, state: dict, prefix: str, *others: Any):
    """load_state_dict: names with the wrapper's, tensors divided as the parameters are."""
    places = {_plain(name): p for name, p in module.module.named_parameters()}
    is_local = module._settings.state_dict_type is StateDictType.LOCAL_STATE_DICT
    for name in [name for name in state if name.startswith(prefix)]:
        short, x = name[len(prefix) :], state.pop(name)
        place = places.get(_plain(short))
        if is_local and is_distributed(place) and isinstance(x, Tensor) and not is_distributed(x):
            x = DTensor.from_local(x, place.device_mesh, place.placements)
        state[f"{prefix}{WRAPPED}.{short}"] = _like(x, place)


def _names_in_order(model: Module, optim: Any) -> list[str]:
    """The names of an optimizer's parameters, in its order."""
    names = {id(p): _plain(name) for name, p in model.named_parameters()}
    return [names[id(p)] for group in optim.param_groups for p in group["params"]]


def _named(state: Mapping, keys: Any) -> dict:
    """A state of an optimizer with other keys."""
    groups = [{**group, "params": [keys[i] for i in group["params"]]} for group in state["param_groups"]]
    return {"state": {keys[i]: s for i, s in state["state"].items()}, "param_groups": groups}


def _of_first(state: Any) -> Any:
    """What the first process has."""
    box = [state]
    if default().size() > 1:
        collectives.broadcast_object_list(box, 0)
    return box[0]


__getattr__ = _missing.getter(__name__)
