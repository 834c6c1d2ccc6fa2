"""torch.func for modules: functional_call, stack_module_state, batch norm without statistics."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence

from ...tensors.active import active
from ...tensors.base import Tensor
from ..shape.joining import stack


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights: bool = True, strict: bool = False
):
    """Call a module with other tensors in place of (some of) its parameters and buffers.

    >>> net = torch.nn.Linear(1, 1)
    >>> torch.func.functional_call(net, {"weight": torch.ones(1, 1), "bias": torch.zeros(1)},
    ...                            torch.ones(1, 1))
    tensor([[1.]])
    """
    tensors = _merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with swapped(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _merged(dicts) -> dict:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    merged: dict = {}
    for d in dicts:
        repeated = merged.keys() & d.keys()
        if repeated:
            raise ValueError(
                f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        merged.update(d)
    return merged


@contextlib.contextmanager
def swapped(module, tensors: dict, tie_weights: bool = True, strict: bool = False):
    """Context: the module has these tensors in the places their names say. What the module puts there
    meanwhile is put into the dict."""
    places = dict(_places(module)) if tie_weights or strict else {}  # modules in circles have no end of them
    given, tensors = tensors, _tied(places, tensors) if tie_weights else tensors
    if strict:
        _check_names(module, places, tensors)
    saved = []
    try:
        for name, tensor in tensors.items():
            holder = _holder(module, places, name, tensor)
            saved.append((name, holder, _swap(*holder, tensor)))
        yield
    finally:
        for name, holder, old in reversed(saved):
            new = _swap(*holder, old)
            if name in given and new is not MISSING:
                given[name] = new


MISSING = object()


def _swap(holder, key: str, tensor):
    """Put a tensor (MISSING: nothing) into a dict or module; what was there."""
    old = holder.get(key, MISSING) if isinstance(holder, dict) else getattr(holder, key, MISSING)
    if isinstance(holder, dict):
        if tensor is MISSING:
            holder.pop(key, None)
        else:
            holder[key] = tensor
    elif tensor is not MISSING:
        setattr(holder, key, tensor)
    elif old is not MISSING:
        delattr(holder, key)
    return old


def _places(module):
    """(name, (dict that holds it, key)) of every parameter and buffer, shared ones repeatedly."""
    for prefix, sub in module.named_modules(remove_duplicate=False):
        for holder in (sub._parameters, sub._buffers):
            for key in holder:
                if holder[key] is not None:
                    yield (f"{prefix}.{key}" if prefix else key), (holder, key)


def _holder(module, places: dict, name: str, tensor):
    """(dict of parameters or buffers, or a module; name in it) that a name stands for."""
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if name in places:
        return places[name]
    prefix, _, key = name.rpartition(".")
    sub = _submodule(module, prefix)
    if not key:
        raise KeyError('tensor name can\'t be empty string ""')
    for holder in (sub._parameters, sub._buffers):
        if key in holder:
            return holder, key
    if hasattr(sub, key) and not isinstance(getattr(sub, key), Tensor):
        raise TypeError(f"attribute `{name}`: {getattr(sub, key)} is not an instance of torch.Tensor")
    return sub, key  # an attribute for the time of the call


def _submodule(module, path: str):
    for name in path.split(".") if path else ():
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        module = getattr(module, name)
        if not hasattr(module, "_modules"):
            raise TypeError(f"submodule `{path}`: {module} is not an instance of torch.nn.Module")
    return module


def _check_names(module, places: dict, tensors: dict):
    lines = [f"Error(s) in reparametrizing for {type(module).__name__}:"]
    for what, names in (("Unexpected", tensors.keys() - places), ("Missing", places.keys() - tensors)):
        if names:
            lines.append(f"{what} key(s): {', '.join(repr(name) for name in sorted(names))}.")
    if len(lines) > 1:
        raise RuntimeError("\n\t".join(lines))


def _tied(places: dict, tensors: dict) -> dict:
    """The tensors under all names of the parameters they replace."""
    names: dict[int, list[str]] = {}
    for name, (holder, key) in places.items():
        names.setdefault(id(holder[key]), []).append(name)
    tied = dict(tensors)
    for group in names.values():
        given = [n for n in group if n in tensors]
        if len(group) == 1 or not given:
            continue
        if any(tensors[n] is not tensors[given[0]] for n in given):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(group)}, "
                "which are tied. Consider using tie_weights=False"
            )
        tied.update(dict.fromkeys(group, tensors[given[0]]))
    return tied


def stack_module_state(models):
    """(parameters, buffers) of several modules of one class, stacked by name, for vmap.

    >>> parameters, buffers = torch.func.stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])
    >>> parameters["weight"].shape
    torch.Size([2, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {
        name: _stacked(stack, [dict(m.named_parameters())[name] for m in models], True)
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stacked(stack, [dict(m.named_buffers())[name] for m in models], False)
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers


def _stacked(stack, tensors: list, parameters: bool):
    """One tensor of several; a leaf that requires grad if they are leaves that do."""
    wanting = {x.requires_grad for x in tensors}
    if len(wanting) > 1:
        raise RuntimeError("Expected all models to have the same `requires_grad` settings for their parameters")
    if all(x.is_leaf for x in tensors):
        return stack([x.detach() for x in tensors]).requires_grad_(wanting.pop())
    return stack(tensors)


def replace_all_batch_norm_modules_(root):
    """Make the batch norms of a module use batch statistics only; returns the module.

    >>> net = nn.Sequential(nn.BatchNorm1d(2))
    >>> torch.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
    True
    """
    for module in root.modules():
        if hasattr(module, "track_running_stats") and hasattr(module, "running_mean"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func, *, remove: str = "mutations"):
    """func itself: here mutation is never seen by what executes a program. Graphs of make_fx come without it.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for "
            f"remove={remove}. Valid options are:\n     remove='mutations': all "
            "inplace and out= operators will be removed from the program, and "
            "replaced with their out-of-place equivalents.\n     "
            "remove='mutations_and_views': In addition to the above, all "
            "aliasing operators {view} will be replaced with their non-aliasing "
            "counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        if active.overrides is not None and active.overrides.below is not None:
            active.overrides.below.functionalize(remove)
        return func(*args, **kwargs)

    return wrapped


def debug_unwrap(tensor, *, recurse: bool = True):
    """What a tensor inside a func transform wraps; the tensor itself outside. For debugging.

    >>> torch.func.debug_unwrap(torch.ones(2))
    tensor([1., 1.])
    """
    while tensor._level is not None:
        tensor = tensor._level.below
        if not recurse:
            break
    return tensor
