"""torch.optim.Optimizer: parameter groups, hooks, states; what every optimizer has in common."""

from __future__ import annotations

import copy
import functools
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from ..core.warn import warn
from ..engine import flush, from_numpy, to_numpy
from ..torch.compat.utils.hooks import RemovableHandle
from ..torch.tape.modes import enable_grad
from ..torch.tape.modes import state as mode
from ..torch.tensors import types as _types
from ..torch.tensors.active import active
from ..torch.tensors.base import Tensor
from ..torch.views.cells import check_writable
from ._implementations import (  # noqa: F401 (optimizers of other packages import them from here)
    ParamsT,
    _capturable_doc,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _differentiable_doc,
    _disable_dynamo_if_unsupported,
    _foreach_doc,
    _foreach_supported_types,
    _fused_doc,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _maximize_doc,
    _params_doc,
    _to_scalar,
    _view_as_real,
)

NOT_ITERABLE = "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {}"
UNORDERED = (
    "optimizer parameters need to be organized in ordered collections, but the ordering "
    "of tensors in sets will change between runs. Please use a list instead."
)
NAMES_MISSING = "all optimizer params should be with/without names. Some param names are missing"
NAMES_MIXED = "all optimizer param groups should be with/without names. cannot add param group {} to the optimizer"
NOT_A_TENSOR = "optimizer can only optimize Tensors, but one of the params is {}"
DUPLICATE = "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error"
GROUPS_DIFFER = "loaded state dict has a different number of parameter groups"
SIZES_DIFFER = "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"


class _Required:
    """The default of an option that every parameter group must give."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()

# ---- hooks ---------------------------------------------------------------------------------------

_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)
_global_pre_hooks: OrderedDict = OrderedDict()
_global_post_hooks: OrderedDict = OrderedDict()


def _register(hooks: OrderedDict, hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) before every step of every optimizer.

    >>> from torch.optim.optimizer import register_optimizer_step_pre_hook
    >>> hook = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
    >>> torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1).step()
    before
    >>> hook.remove()
    """
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) after every step of every optimizer.

    >>> from torch.optim.optimizer import register_optimizer_step_post_hook
    >>> hook = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("stepped"))
    >>> torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1).step()
    stepped
    >>> hook.remove()
    """
    return _register(_global_post_hooks, hook)


def _with_hooks(step: Callable) -> Callable:
    """A step method that calls the hooks, and computes what was recorded at its end."""

    @functools.wraps(step)
    def hooked_step(*args, **kwargs):
        self = args[0]
        if active.observer is not None:
            name = f"Optimizer.step#{type(self).__name__}.step"
            with active.observer.range(name, is_user_annotation=True, parts=self._operators):
                return run(self, args, kwargs)
        return run(self, args, kwargs)

    def run(self, args, kwargs):
        if active.births:  # inside of a transform: parameters from outside are not to be written to
            for p in all_params(self.param_groups):
                check_writable(p, op="copy")
        if _global_pre_hooks or self._optimizer_step_pre_hooks:
            args, kwargs = _call_pre_hooks(self, step, args, kwargs)
        out = step(*args, **kwargs)
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
            hook(self, args, kwargs)
        flush("optimizer.step")
        return out

    hooked_step.hooked = True
    return hooked_step


def _call_pre_hooks(self, step, args, kwargs):
    for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
        result = hook(self, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
        args, kwargs = result
    return args, kwargs


def _make(parameters: Iterable):
    """Compute the parameters, each an array of its own, so that the first step is the program of those that follow.

    What makes them would be a part of it, and copies of a module (`TransformerEncoder`'s layers) have the
    arrays of the original until they are written to: fewer inputs, of which fewer can be given up.
    """
    flush("the parameters are made")
    seen = set()
    for p in parameters:
        if p.is_sparse:
            continue
        view, value = p._view, p._value
        whole = view is None or (view.chain == () and view.cell.value is value)
        if whole and value in seen and value.recording is None:
            p._value = from_numpy(np.array(to_numpy(value)))
            if view is not None:
                view.cell.value = p._value
        seen.add(value)


# ---- the class -----------------------------------------------------------------------------------


class Optimizer:
    """The base of all optimizers.

    `params` is an iterable of tensors, of (name, tensor) pairs, or of dicts that are parameter
    groups: {"params": ..., and options that differ from `defaults`}.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
    >>> isinstance(optimizer, torch.optim.Optimizer)
    True
    """

    def __init__(self, params: Iterable, defaults: dict):
        self.defaults = defaults
        self._make_hooks()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(NOT_ITERABLE.format(_typename(params)))
        self.state: defaultdict = defaultdict(dict)
        self.param_groups: list[dict] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        _make(p for group in self.param_groups for p in group["params"])

    def __getstate__(self) -> dict:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict):
        self.__dict__.update(state)
        self._make_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        groups = [
            "".join(
                [f"Parameter Group {i}\n", *[f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]]
            )
            for i, group in enumerate(self.param_groups)
        ]
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    def _make_hooks(self):
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def _patch_step_function(self):
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)

    def step(self, closure: Callable | None = None):
        """Update the parameters once. `closure` computes the loss anew and returns it."""
        raise NotImplementedError

    def _operators(self, sketch):
        """What PyTorch calls in a step, called with the parts of a profile's sketch; nothing where it is not known."""

    # ---- hooks

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may return others."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) before state_dict()."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) after state_dict(); it may return another."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) before loading; it may return another."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ---- gradients

    def zero_grad(self, set_to_none: bool = True):
        """Forget the gradients of all parameters, or fill them with zeros."""
        if active.observer is not None:
            with active.observer.range(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad", is_user_annotation=True):
                return self._zero_grad(set_to_none)
        return self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool):
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    if set_to_none:
                        p._grad = None
                    else:
                        _fill_with_zeros(p._grad)

    # ---- parameter groups

    def add_param_group(self, param_group: dict):
        """Optimize further parameters, with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(UNORDERED)
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names and len(names) != len(params):
            raise ValueError(NAMES_MISSING)
        param_group["params"] = params = [p[1] for p in params] if names else params
        if names:
            param_group["param_names"] = names
        self._check_params(params)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_against_others(param_group)
        self.param_groups.append(param_group)

    def _check_params(self, params: list):
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(NOT_A_TENSOR.format(_typename(p)))
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    def _check_against_others(self, new: dict):
        params = set(new["params"])
        if len(params) != len(new["params"]):
            warn(DUPLICATE)
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                raise ValueError(NAMES_MIXED.format("with names" if "param_names" in new else "without names"))
            if not params.isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")

    # ---- states

    def state_dict(self) -> dict:
        """{"state": {index: ...}, "param_groups": [...]}, parameters by their running index."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                index.setdefault(id(p), i)
            start += len(group["params"])
            groups.append(
                {**{k: v for k, v in group.items() if k != "params"}, "params": [index[id(p)] for p in group["params"]]}
            )
        states = {index[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        return _by_hooks(self, {"state": states, "param_groups": groups}, self._optimizer_state_dict_post_hooks)

    def load_state_dict(self, state_dict: dict):
        """Go on from what state_dict() gave, here or in PyTorch."""
        state_dict = _by_hooks(self, state_dict.copy(), self._optimizer_load_state_dict_pre_hooks)
        saved = copy.deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError(GROUPS_DIFFER)
        pairs = list(zip(self.param_groups, saved))
        if any(len(mine["params"]) != len(theirs["params"]) for mine, theirs in pairs):
            raise ValueError(SIZES_DIFFER)
        params = {i: (p, theirs) for mine, theirs in pairs for i, p in zip(theirs["params"], mine["params"])}
        states: defaultdict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            param, group = params.get(key, (None, None))
            states[key if param is None else param] = value if param is None else _fitted(value, param, group)
        for mine, theirs in pairs:
            theirs["params"] = mine["params"]
            if "param_names" in mine:
                theirs.setdefault("param_names", mine["param_names"])
        self.__setstate__({"state": states, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _by_hooks(optimizer: Optimizer, state_dict: dict, hooks: dict) -> dict:
    """What hooks that may replace a state dict make of it."""
    for hook in hooks.values():
        found = hook(optimizer, state_dict)
        state_dict = state_dict if found is None else found
    return state_dict


def _fitted(value, param: Tensor, group: dict, key=None):
    """A copy of a loaded state, its tensors in the parameter's dtype and on its device."""
    fit = functools.partial(_fitted, param=param, group=group)
    if isinstance(value, Tensor):
        return _fitted_tensor(value, param, group, key)
    if isinstance(value, dict):
        return {k: fit(v, key=k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(fit(v) for v in value)
    return value


def _fitted_tensor(value: Tensor, param: Tensor, group: dict, key) -> Tensor:
    if key == "step":  # never in the parameter's dtype: a half cannot count far
        on_device = group.get("capturable") or group.get("fused")
        return value.to(dtype=_types.float32, device=param.device) if on_device else value
    if param.is_floating_point():
        return value.to(dtype=param.dtype, device=param.device)
    return value.to(device=param.device)


def _fill_with_zeros(grad: Tensor):
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _typename(x) -> str:
    """torch.typename."""
    if isinstance(x, Tensor):
        return x.type()
    cls = type(x)
    return cls.__qualname__ if cls.__module__ in ("builtins", None) else (f"{cls.__module__}.{cls.__qualname__}")


def loss_of(closure: Callable | None):
    """The result of a step's closure, which runs with the tape on; None without one.

    >>> from torch.optim.optimizer import loss_of
    >>> with torch.no_grad():
    ...   loss_of(torch.is_grad_enabled)
    True
    """
    if closure is None:
        return None
    with enable_grad():
        return closure()


def without_tape(step: Callable) -> Callable:
    """A step method with the tape off, unless the optimizer is differentiable.

    >>> from torch.optim.optimizer import without_tape
    >>> class Plain:
    ...   defaults = {}
    ...   step = without_tape(lambda self: torch.is_grad_enabled())
    >>> Plain().step()
    False
    """

    @functools.wraps(step)
    def taped_if_asked(self, *args, **kwargs):
        saved, mode.enabled = mode.enabled, bool(self.defaults.get("differentiable"))
        try:
            return step(self, *args, **kwargs)
        finally:
            mode.enabled = saved

    return taped_if_asked


_use_grad_for_differentiable = without_tape


def all_params(groups: Iterable[dict]) -> Iterable[Tensor]:
    """The parameters of all groups.

    >>> from torch.optim.optimizer import all_params
    >>> list(all_params([{"params": ["a"]}, {"params": ["b", "c"]}]))
    ['a', 'b', 'c']
    """
    return itertools.chain.from_iterable(group["params"] for group in groups)
