"""The hooks of modules: those of all modules, and a call that has any."""

from __future__ import annotations

import functools
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ...core.warn import warn
from ...torch.compat.utils.hooks import BackwardHook, RemovableHandle
from ...torch.tensors.base import Tensor

BOTH_KINDS = "Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
BAD_PRE_HOOK = "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}."
NOT_TENSORS = (
    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {kind}"
)
SILENCED = (
    "{which}module forward hook with ``always_call=True`` raised an exception that was "
    "silenced as another error was raised in forward: {error}"
)


class WrappedHook:
    """A hook that is given its module first, if it has one; it survives pickling."""

    def __init__(self, hook: Callable, module=None):
        self.hook, self.with_module = hook, module is not None
        functools.update_wrapper(self, hook)
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state):
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# ---- hooks of all modules ------------------------------------------------------------------------


class GlobalHooks:
    """The hooks that every module runs."""

    def __init__(self):
        self.buffer_registration = OrderedDict()
        self.module_registration = OrderedDict()
        self.parameter_registration = OrderedDict()
        self.forward_pre = OrderedDict()
        self.forward = OrderedDict()
        self.forward_with_kwargs = OrderedDict()
        self.forward_always = OrderedDict()
        self.backward_pre = OrderedDict()
        self.backward = OrderedDict()
        self.backward_is_full: bool | None = None
        self.calls = (self.backward_pre, self.backward, self.forward, self.forward_pre)

    def replace(self, field: str, value):
        """Take another table, as code does that resets the hooks of all modules."""
        setattr(self, field, value)
        self.calls = (self.backward_pre, self.backward, self.forward, self.forward_pre)


everywhere = GlobalHooks()
GLOBAL_TABLES = {  # PyTorch's names -> our fields
    "_global_buffer_registration_hooks": "buffer_registration",
    "_global_module_registration_hooks": "module_registration",
    "_global_parameter_registration_hooks": "parameter_registration",
    "_global_forward_pre_hooks": "forward_pre",
    "_global_forward_hooks": "forward",
    "_global_forward_hooks_with_kwargs": "forward_with_kwargs",
    "_global_forward_hooks_always_called": "forward_always",
    "_global_backward_pre_hooks": "backward_pre",
    "_global_backward_hooks": "backward",
    "_global_is_full_backward_hook": "backward_is_full",
}


class ModuleOfTables(types.ModuleType):
    """A module in which the tables of all hooks can be looked at and replaced by PyTorch's names."""

    def __getattr__(self, name):
        if name in GLOBAL_TABLES:
            return getattr(everywhere, GLOBAL_TABLES[name])
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name, value):
        if name in GLOBAL_TABLES:
            everywhere.replace(GLOBAL_TABLES[name], value)
        else:
            super().__setattr__(name, value)


def register(
    hooks: OrderedDict, hook: Callable, prepend: bool = False, marks: Sequence[tuple[OrderedDict, bool]] = ()
) -> RemovableHandle:
    """Add a hook; `marks` are sets of hook ids (as dicts) and whether the hook belongs to them."""
    handle = RemovableHandle(hooks, extra_dict=[marked for marked, _ in marks])
    hooks[handle.id] = hook
    for marked, belongs in marks:
        if belongs:
            marked[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def registered(hooks: OrderedDict, module, name: str, value):
    """A member about to be registered, as the registration hooks leave it."""
    for hook in hooks.values():
        new = hook(module, name, value)
        value = value if new is None else new
    return value


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Call hook(module, name, buffer) whenever a buffer is registered; it may return another.

    >>> from torch.nn.modules.module import register_module_buffer_registration_hook
    >>> hook = register_module_buffer_registration_hook(lambda module, name, buffer: print(name))
    >>> nn.ReLU().register_buffer("mean", torch.zeros(2))
    mean
    >>> hook.remove()
    """
    return register(everywhere.buffer_registration, hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Call hook(module, name, submodule) whenever a module is registered; it may return another.

    >>> from torch.nn.modules.module import register_module_module_registration_hook
    >>> hook = register_module_module_registration_hook(lambda module, name, submodule: print(name, submodule))
    >>> net = nn.Sequential(nn.ReLU())
    0 ReLU()
    >>> hook.remove()
    """
    return register(everywhere.module_registration, hook)


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Call hook(module, name, param) whenever a parameter is registered; it may return another.

    >>> from torch.nn.modules.module import register_module_parameter_registration_hook
    >>> hook = register_module_parameter_registration_hook(lambda module, name, parameter: print(name))
    >>> layer = nn.Linear(2, 1)
    weight
    bias
    >>> hook.remove()
    """
    return register(everywhere.parameter_registration, hook)


def register_module_forward_pre_hook(hook) -> RemovableHandle:
    """Call hook(module, args) before every forward; it may return other arguments.

    >>> from torch.nn.modules.module import register_module_forward_pre_hook
    >>> hook = register_module_forward_pre_hook(lambda module, args: print(args))
    >>> _ = nn.ReLU()(torch.ones(2))
    (tensor([1., 1.]),)
    >>> hook.remove()
    """
    return register(everywhere.forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False) -> RemovableHandle:
    """Call hook(module, args, output) after every forward; it may return another output.

    >>> from torch.nn.modules.module import register_module_forward_hook
    >>> hook = register_module_forward_hook(lambda module, args, output: print(type(module).__name__))
    >>> _ = nn.ReLU()(torch.ones(2))
    ReLU
    >>> hook.remove()
    """
    return register(
        everywhere.forward,
        hook,
        marks=[(everywhere.forward_always, always_call), (everywhere.forward_with_kwargs, with_kwargs)],
    )


def register_module_full_backward_pre_hook(hook) -> RemovableHandle:
    """Call hook(module, grad_output) before the backward pass of every module.

    >>> from torch.nn.modules.module import register_module_full_backward_pre_hook
    >>> hook = register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output))
    >>> nn.ReLU()(torch.ones(2, requires_grad=True)).sum().backward()
    (tensor([1., 1.]),)
    >>> hook.remove()
    """
    return register(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) in the backward pass of every module.

    >>> from torch.nn.modules.module import register_module_full_backward_hook
    >>> hook = register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
    >>> nn.ReLU()(torch.ones(2, requires_grad=True)).sum().backward()
    (tensor([1., 1.]),)
    >>> hook.remove()
    """
    return _register_backward(hook, True)


def register_module_backward_hook(hook) -> RemovableHandle:
    """Deprecated: register_module_full_backward_hook, with the gradients of one node only.

    >>> callable(nn.modules.module.register_module_backward_hook)
    True
    """
    return _register_backward(hook, False)


def _register_backward(hook, full: bool) -> RemovableHandle:
    if everywhere.backward_is_full is (not full):
        raise RuntimeError(BOTH_KINDS.format(where="as a global Module hook"))
    everywhere.backward_is_full = full
    return register(everywhere.backward, hook)


# ---- a call with hooks ---------------------------------------------------------------------------


class HookedCall:
    """One call of a module that has hooks, or while there are hooks of all modules."""

    def __init__(self, module, args: tuple, kwargs: dict):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result = None
        self.done: set[int] = set()  # the always-called hooks that have run

    def run(self):
        """Forward with everything around it."""
        try:
            return self._run()
        except Exception:
            self._run_always_called()
            raise

    def _run(self):
        module = self.module
        full, regular = backward_hooks(module)
        pre = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
        self._forward_pre()
        node = BackwardHook(module, full, pre) if full or pre else None
        if node is not None:
            self.args = node.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self._forward()
        if node is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn(NOT_TENSORS.format(kind=type(self.result)))
            self.result = node.setup_output_hook(self.result)
        if regular:
            _hook_one_node(module, regular, self.args, self.result)
        return self.result

    def _forward_pre(self):
        own = self.module._forward_pre_hooks
        for key, hook in (*everywhere.forward_pre.items(), *own.items()):
            if key in self.module._forward_pre_hooks_with_kwargs:
                new = hook(self.module, self.args, self.kwargs)
                if new is not None:
                    if not (isinstance(new, tuple) and len(new) == 2):
                        raise RuntimeError(BAD_PRE_HOOK.format(found=new))
                    self.args, self.kwargs = new
            else:
                new = hook(self.module, self.args)
                if new is not None:
                    self.args = new if isinstance(new, tuple) else (new,)

    def _forward(self):
        for key, hook in (*everywhere.forward.items(), *self.module._forward_hooks.items()):
            if self._is_always_called(key):
                self.done.add(key)
            self._forward_one(key, hook)

    def _forward_one(self, key: int, hook: Callable):
        if key in self.module._forward_hooks_with_kwargs or key in everywhere.forward_with_kwargs:
            new = hook(self.module, self.args, self.kwargs, self.result)
        else:
            new = hook(self.module, self.args, self.result)
        if new is not None:
            self.result = new

    def _is_always_called(self, key: int) -> bool:
        return key in self.module._forward_hooks_always_called or key in everywhere.forward_always

    def _run_always_called(self):
        """After an error: the hooks that run all the same; their own errors become warnings."""
        hooks = [("global ", *item) for item in everywhere.forward.items()]
        hooks += [("", *item) for item in self.module._forward_hooks.items()]
        for which, key, hook in hooks:
            if not self._is_always_called(key) or key in self.done:
                continue
            try:
                self._forward_one(key, hook)
            except Exception as error:
                warn(SILENCED.format(which=which, error=error))


def backward_hooks(module) -> tuple[list, list]:
    """(full, regular) backward hooks that apply to a module."""
    full, regular = [], []
    for hooks, is_full in (
        (everywhere.backward, everywhere.backward_is_full),
        (module._backward_hooks, module._is_full_backward_hook),
    ):
        if is_full is not None:
            (full if is_full else regular).extend(hooks.values())
    return full, regular


# ---- regular backward hooks, which see one node --------------------------------------------------

NESTED_OUTPUT = (
    "Using non-full backward hooks on a Module that does not return a single Tensor "
    "or a tuple of Tensors is deprecated and will be removed in future versions. This "
    "hook will be missing some of the grad_output. Please use "
    "register_full_backward_hook to get the documented behavior."
)
NESTED_INPUT = (
    "Using non-full backward hooks on a Module that does not take as input a single "
    "Tensor or a tuple of Tensors is deprecated and will be removed in future "
    "versions. This hook will be missing some of the grad_input. Please use "
    "register_full_backward_hook to get the documented behavior."
)
SEVERAL_OUTPUT_NODES = (
    "Using a non-full backward hook when outputs are generated by different "
    "autograd Nodes is deprecated and will be removed in future versions. This "
    "hook will be missing some grad_output. Please use "
    "register_full_backward_hook to get the documented behavior."
)
SEVERAL_NODES = (
    "Using a non-full backward hook when the forward contains multiple autograd Nodes "
    "is deprecated and will be removed in future versions. This hook will be missing "
    "some grad_input. Please use register_full_backward_hook to get the documented "
    "behavior."
)


def _hook_one_node(module, hooks: list, inputs, result):
    """Register the hooks on the node of the first output."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(WrappedHook(hook, module))
    problem = _what_is_missing(inputs, result, node)
    if problem:
        warn(problem, FutureWarning)


def _what_is_missing(inputs, result, node) -> str | None:
    """Why hooks on one node do not see all gradients of a call, or None."""
    outputs = (result,) if isinstance(result, Tensor) else result
    if not _all_tensors(outputs):
        return NESTED_OUTPUT
    if not _all_tensors(inputs):
        return NESTED_INPUT
    nodes = {y.grad_fn for y in outputs if y.grad_fn is not None}
    if len(nodes) > 1:
        return SEVERAL_OUTPUT_NODES
    above = {x.grad_fn for x in inputs if x.grad_fn is not None}
    if above != {n for n, _ in node.next_functions if n is not None}:
        return SEVERAL_NODES
    return None


def _all_tensors(x) -> bool:
    return isinstance(x, tuple) and all(isinstance(y, Tensor) for y in x)
