"""torch.distributed.checkpoint.state_dict: states of models and optimizers by the names of parameters.

The names are those of the model alone, without what wrappers add, so that a state can be read where the model is
divided in another way, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ....tape.modes import no_grad
from ....tensors.base import Tensor
from ....tensors.pytree import tree_map
from .. import collectives
from ..group import default, is_initialized
from ..tensor.api import distribute_tensor, is_distributed

WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.")
NOT_OURS = "get_state_dict: the optimizer has a parameter that the model has not"
UNKNOWN = "set_optimizer_state_dict: the state has no parameter {name!r}"


@dataclass
class StateDictOptions:
    """full_state_dict: whole tensors; with cpu_offload in the first process alone. broadcast_from_rank0: what is set is
    the first process's. ignore_frozen_params, strict: as they say. flatten_optimizer_state_dict:
    {"state.NAME.exp_avg": ...}.

    >>> from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    >>> list(get_model_state_dict(nn.Linear(2, 1), options=StateDictOptions(full_state_dict=True, cpu_offload=True)))
    ['weight', 'bias']
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(name: str) -> str:
    """A name without what wrappers put into it."""
    for wrapper in WRAPPERS:
        name = name.removeprefix(wrapper).replace(f".{wrapper}", ".")
    return name


def _whole(state: Any, options: StateDictOptions) -> Any:
    """The state as the options want it."""
    if not options.full_state_dict:
        return state
    state = tree_map(lambda x: x.full_tensor() if is_distributed(x) else x, state)
    first = not options.cpu_offload or not is_initialized() or default().global_rank == 0
    return state if first else {}


# ---- getting -------------------------------------------------------------------------------------


def get_model_state_dict(model, *, submodules=None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """The parameters and buffers of a model, by name.

    >>> from torch.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    options = options or StateDictOptions()
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    state = model.state_dict()
    if options.ignore_frozen_params:
        state = {k: v for k, v in state.items() if k not in frozen}
    return _whole({_plain(k): v for k, v in state.items()}, options)


def get_optimizer_state_dict(
    model, optimizers, *, submodules=None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The states of optimizers: {"state": {name: ...}, "param_groups": [{"params": [names], ...}]}.

    >>> from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
    >>> model = nn.Linear(2, 1)
    >>> list(get_optimizer_state_dict(model, torch.optim.SGD(model.parameters(), lr=0.1)))
    ['state', 'param_groups']
    """
    options = options or StateDictOptions()
    names = {id(p): _plain(name) for name, p in model.named_parameters()}
    state: dict[str, Any] = {}
    groups: list[dict] = []
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            if any(id(p) not in names for p in group["params"]):
                raise RuntimeError(NOT_OURS)
            groups.append({**group, "params": [names[id(p)] for p in group["params"]]})
            state.update({names[id(p)]: dict(optimizer.state[p]) for p in group["params"] if optimizer.state.get(p)})
    found = {"state": state, "param_groups": groups}
    if options.flatten_optimizer_state_dict:
        found = _flattened(found)
    return _whole(found, options)


def get_state_dict(model, optimizers, *, submodules=None, options: StateDictOptions | None = None) -> tuple[dict, dict]:
    """(the model's state, the optimizers' state).

    >>> from torch.distributed.checkpoint.state_dict import get_state_dict
    >>> model = nn.Linear(2, 1)
    >>> model_state, optimizer_state = get_state_dict(model, torch.optim.SGD(model.parameters(), lr=0.1))
    >>> list(model_state), list(optimizer_state)
    (['weight', 'bias'], ['state', 'param_groups'])
    """
    return (get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options))


def _listed(optimizers) -> list:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _init_optim_state(optimizer):
    """Let an optimizer have its state: a step of no length with gradients of zero."""
    params = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    lengths = [group["lr"] for group in optimizer.param_groups]
    for p in params:
        p.grad = p.detach() * 0
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.step()
    for group, lr in zip(optimizer.param_groups, lengths):
        group["lr"] = lr
    for state in optimizer.state.values():  # it was no step
        if isinstance(state.get("step"), Tensor):
            state["step"].zero_()
    optimizer.zero_grad()


def _flattened(found: dict) -> dict:
    flat = {f"state.{name}.{k}": v for name, s in found["state"].items() for k, v in s.items()}
    for group in found["param_groups"]:
        for name in group["params"]:
            flat.update({f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"})
    return flat


# ---- setting -------------------------------------------------------------------------------------


def _sent(state: Any, options: StateDictOptions) -> Any:
    """The state of the first process, where that is what counts."""
    if not options.broadcast_from_rank0 or not is_initialized() or default().size() == 1:
        return state
    box = [state]
    collectives.broadcast_object_list(box, 0)
    return box[0]


def _like(x: Any, place: Any) -> Any:
    """A whole tensor, divided as the one is that it is to replace."""
    if is_distributed(place) and isinstance(x, Tensor) and not is_distributed(x):
        if tuple(x.shape) == tuple(place.shape):
            return distribute_tensor(x.detach(), place.device_mesh, place.placements, src_data_rank=None)
    return x


def set_model_state_dict(model, model_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None):
    """Set the parameters and buffers of a model by name; what load_state_dict returns.

    >>> from torch.distributed.checkpoint.state_dict import set_model_state_dict
    >>> model = nn.Linear(2, 1)
    >>> set_model_state_dict(model, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)})
    <All keys matched successfully>
    >>> model(torch.ones(1, 2)).item()
    2.0
    """
    options = options or StateDictOptions()
    given = _sent(model_state_dict, options)
    own = {_plain(k): (k, v) for k, v in model.state_dict().items()}
    state = {own[k][0] if k in own else k: _like(v, own[k][1]) if k in own else v for k, v in given.items()}
    with no_grad():
        return model.load_state_dict(state, strict=options.strict)


def set_optimizer_state_dict(
    model, optimizers, optim_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Set the states of optimizers by the names of parameters.

    >>> from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict
    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> set_optimizer_state_dict(model, optimizer, optim_state_dict=get_optimizer_state_dict(model, optimizer))
    """
    options = options or StateDictOptions()
    given = _sent(optim_state_dict, options)
    for optimizer in _listed(optimizers):
        optimizer.load_state_dict(_by_number(model, optimizer, given, options))


def _by_number(model, optimizer, given: Mapping[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """What load_state_dict of an optimizer takes, of a state by the names of parameters."""
    names = {id(p): _plain(name) for name, p in model.named_parameters()}
    _init_optim_state(optimizer)
    read = _flat_reader(given) if options.flatten_optimizer_state_dict else _reader(given)
    state: dict[int, dict] = {}
    groups, number = [], 0
    for group in optimizer.param_groups:
        members = [names[id(p)] for p in group["params"]]
        for i, (p, name) in enumerate(zip(group["params"], members), number):
            kept = optimizer.state.get(p, {})
            found = read(name, kept, group)
            if kept and found is None and options.strict:
                raise KeyError(UNKNOWN.format(name=name))
            if found is not None:
                state[i] = {k: _like(v, kept.get(k)) for k, v in found[0].items()}
        own = read(members[0], {}, group) if members else None
        options_of = {} if own is None else {k: v for k, v in own[1].items() if k in group}
        groups.append({**group, **options_of, "params": list(range(number, number + len(members)))})
        number += len(members)
    return {"state": state, "param_groups": groups}


Reader = Callable[[str, Mapping, Mapping], tuple[dict, dict] | None]


def _reader(given: Mapping) -> Reader:
    """(state, options of its group) of a parameter."""
    options = {name: g for g in given.get("param_groups", ()) for name in g["params"]}

    def read(name: str, state: Mapping, group: Mapping):
        if name not in given.get("state", {}) and state:
            return None
        return given.get("state", {}).get(name, {}), {k: v for k, v in options.get(name, {}).items() if k != "params"}

    return read


def _flat_reader(given: Mapping) -> Reader:
    def read(name: str, state: Mapping, group: Mapping):
        found = {k: given[f"state.{name}.{k}"] for k in state if f"state.{name}.{k}" in given}
        if state and not found:
            return None
        return found, {k: given[f"param_groups.{name}.{k}"] for k in group if f"param_groups.{name}.{k}" in given}

    return read


def set_state_dict(
    model,
    optimizers,
    *,
    model_state_dict: Mapping[str, Any],
    optim_state_dict: Mapping[str, Any],
    options: StateDictOptions | None = None,
):
    """Set the states of a model and of its optimizers; what load_state_dict of the model returns.

    >>> from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> model_state, optimizer_state = get_state_dict(model, optimizer)
    >>> _ = set_state_dict(model, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
    """
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
