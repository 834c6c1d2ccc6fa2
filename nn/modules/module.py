"""nn.Module: a tree of named parameters, buffers and sub-modules that can be called."""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import get_type_hints

from ... import torch
from ...core.warn import warn
from ...engine.value import NO_DATA
from ...torch.compat.utils.hooks import RemovableHandle
from ...torch.tensors.base import Tensor
from ...torch.tensors.explain import MISTAKES, explain
from ..parameter import Buffer, Parameter
from . import _html
from ._conversion import converted
from ._hooks import (
    BOTH_KINDS,
    HookedCall,
    ModuleOfTables,
    everywhere,
    register,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from ._hooks import WrappedHook as _WrappedHook
from ._names import parse_to, typename
from ._state import EXTRA_STATE, Loading, _IncompatibleKeys, load_member, note_unexpected

_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE  # the name by which packages ask for it
USE_TO_EMPTY = (
    f"{NO_DATA} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
    "when moving module from meta to a different device."
)
COMPLEX_MODULE = (
    "Complex modules are a new feature under active development whose design may "
    "change, and some modules might not work as expected when using complex tensors "
    "as parameters or buffers."
)
NON_LEAF = (
    "Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
    "explicitly. To express '{name}' as a function of another Tensor, compute the value in "
    "the forward() method."
)
REPLICA = (
    "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The "
    "parameters are copied (in a differentiable manner) from the original module. This "
    "means they are not leaf nodes in autograd and so don't accumulate gradients. If you "
    "need gradients in your forward method, consider using autograd.grad instead."
)
POSITIONAL = (
    "Positional args are being deprecated, use kwargs instead. Refer to "
    "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.state_dict for details."
)
SAME_FUNCTION = (
    "Cannot register the same function as the state dict post hook that was "
    "previously registered via register_state_dict_post_hook"
)
NEVER_CALLED = "Reached a code path in Module.{name}() that should never be called."
NO_PERSISTENT = (
    "Registering a non-persistent buffer on a Module subclass that implements "
    "register_buffer() without the persistent argument is not allowed."
)

# The attributes of a fresh module, and what makes their values.
_STATE = {
    "training": lambda: True,
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": lambda: None,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}


def _forward_unimplemented(self, *input):
    """What the module computes; every subclass defines it."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _is_tensor_like(x) -> bool:
    return isinstance(x, Tensor) or hasattr(x, "__torch_function__")


def _on_floats(convert: Callable) -> Callable:
    return lambda t: convert(t) if t.is_floating_point() else t


class Module:
    """Base of all neural network modules.

    Parameters, buffers and modules that are assigned as attributes are registered.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return self.fc(x).relu()
    >>> Net()
    Net(
      (fc): Linear(in_features=2, out_features=1, bias=True)
    )
    """

    dump_patches: bool = False
    _version: int = 1
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _is_full_backward_hook: bool | None
    _modules: dict[str, Module | None]
    call_super_init: bool = False
    _compiled_call_impl: Callable | None = None

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            name = f"{type(self).__name__}.__init__()"
            if kwargs:
                raise TypeError(f"{name} got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{name} takes 1 positional argument but {len(args) + 1} were given")
        own = self.__dict__
        for key, make in _STATE.items():
            own[key] = make()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable = _forward_unimplemented

    # ---- calling

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    __call__: Callable = _wrapped_call_impl

    def _call_impl(self, *args, **kwargs):
        try:
            if (
                self._backward_hooks
                or self._backward_pre_hooks
                or self._forward_hooks
                or self._forward_pre_hooks
                or any(everywhere.calls)
            ):
                return HookedCall(self, args, kwargs).run()
            return self.forward(*args, **kwargs)
        except MISTAKES as error:
            explain(error)
            raise

    def compile(self, *args, **kwargs):
        """Let calls of this module go through torch.compile; the arguments are torch.compile's."""
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    # ---- registering

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state but no parameter; state_dict has it if it is persistent.

        KeyError for names that are taken, empty or have dots; TypeError for other objects.
        """
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = registered(everywhere.buffer_registration, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None reserves the name."""
        self._check_name("parameter", name, "_parameters")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(NON_LEAF.format(name=name))
        self._parameters[name] = registered(everywhere.parameter_registration, self, name, param)

    def _check_name(self, what: str, name: str, members: str):
        if members not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in self.__dict__[members] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a sub-module under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if name not in self._modules and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = registered(everywhere.module_registration, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of add_module."""
        self.add_module(name, module)

    # ---- finding

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as "encoder.layers.0"; AttributeError if there is none."""
        module = self
        for name in target.split(".") if target else ():
            module = _attribute_of(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path; `strict` wants one to be there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            if not isinstance(_attribute_of(parent, name), Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "encoder.weight"."""
        path, _, name = target.rpartition(".")
        found = _attribute_of(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as "norm.running_mean"."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = _attribute_of(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # ---- attributes

    def __getattr__(self, name: str):
        own = self.__dict__
        for members in ("_parameters", "_buffers", "_modules"):
            found = own.get(members)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value) -> None:
        own = self.__dict__
        params, modules, buffers = own.get("_parameters"), own.get("_modules"), own.get("_buffers")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, buffers, modules)
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, params, buffers)
            modules[name] = registered(everywhere.module_registration, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = registered(everywhere.module_registration, self, name, value)
        elif isinstance(value, Buffer) or (buffers is not None and name in buffers):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, *holders: dict):
        for holder in holders:
            holder.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_buffer(self, name: str, value):
        if value is not None and not _is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(NO_PERSISTENT)

    def __delattr__(self, name: str):
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        members = (self._parameters, self._modules, self._buffers)
        names = [*dir(type(self)), *self.__dict__, *(name for d in members for name in d)]
        return sorted(name for name in names if not name[0].isdigit())

    # ---- the tree

    def children(self) -> Iterator[Module]:
        """The direct sub-modules."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct sub-modules, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(path, module) of this module and all below it, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def _named_members(
        self, get_members_fn: Callable, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ):
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        seen = set()
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{path}.{name}" if path else name), member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module (and of those below)."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(path, parameter), each parameter once."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix=prefix, recurse=recurse, remove_duplicate=remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module (and of those below)."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(path, buffer), each buffer once."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix=prefix, recurse=recurse, remove_duplicate=remove_duplicate
        )

    def apply(self, fn: Callable) -> Module:
        """Call fn on every module below, then on this one; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- modes

    def train(self, mode: bool = True) -> Module:
        """Set `training` here and below; returns the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """train(False)"""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set requires_grad of all parameters; returns the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or make them zero."""
        if getattr(self, "_is_replica", False):
            warn(REPLICA)
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    # ---- moving and converting

    def _apply(self, fn: Callable, recurse: bool = True) -> Module:
        """Give every parameter, gradient and buffer the data fn makes of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._parameters[name] = converted(param, fn, f"{self._get_name()}.{name}")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs) -> Module:
        """Move to a device, convert to a floating or complex dtype, in place.

        to(device=None, dtype=None, non_blocking=False), to(dtype), to(tensor), and memory_format=.
        Integer parameters and buffers keep their dtype.
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn(COMPLEX_MODULE)

        def convert(t):
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device=device, dtype=wanted, non_blocking=non_blocking, memory_format=memory_format)
            return t.to(device=device, dtype=wanted, non_blocking=non_blocking)

        try:
            return self._apply(convert)
        except NotImplementedError as error:
            if str(error) == NO_DATA:
                raise NotImplementedError(USE_TO_EMPTY) from None
            raise

    def to_empty(self, *, device, recurse: bool = True) -> Module:
        """Move to a device without the values."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def cpu(self) -> Module:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None) -> Module:
        """Move to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self, device=None) -> Module:
        """Move to an IPU."""
        return self._apply(lambda t: t.to(device="ipu" if device is None else device))

    def xpu(self, device=None) -> Module:
        """Move to an XPU."""
        return self._apply(lambda t: t.to(device="xpu" if device is None else device))

    def mtia(self, device=None) -> Module:
        """Move to an MTIA device."""
        return self._apply(lambda t: t.to(device="mtia" if device is None else device))

    def type(self, dst_type) -> Module:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Module:
        """Convert floating parameters and buffers to float32."""
        return self._apply(_on_floats(lambda t: t.float()))

    def double(self) -> Module:
        """Convert floating parameters and buffers to float64."""
        return self._apply(_on_floats(lambda t: t.double()))

    def half(self) -> Module:
        """Convert floating parameters and buffers to float16."""
        return self._apply(_on_floats(lambda t: t.half()))

    def bfloat16(self) -> Module:
        """Convert floating parameters and buffers to bfloat16."""
        return self._apply(_on_floats(lambda t: t.bfloat16()))

    def share_memory(self) -> Module:
        """Move to memory that processes share."""
        return self._apply(lambda t: t.share_memory_())

    # ---- hooks

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward; it may return other arguments.

        With `with_kwargs` it is hook(module, args, kwargs), and returns both.
        """
        return register(self._forward_pre_hooks, hook, prepend, [(self._forward_pre_hooks_with_kwargs, with_kwargs)])

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; it may return another output.

        With `with_kwargs` it is hook(module, args, kwargs, output); `always_call` calls it after
        errors, too.
        """
        return register(
            self._forward_hooks,
            hook,
            prepend,
            [(self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)],
        )

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_output) before the module's backward; it may return another."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) in backward; it may return a grad_input."""
        self._want_backward_hooks(full=True)
        return register(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Deprecated: register_full_backward_hook, with the gradients of one node only."""
        self._want_backward_hooks(full=False)
        return register(self._backward_hooks, hook)

    def _want_backward_hooks(self, full: bool):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(BOTH_KINDS.format(where="on a single Module"))
        self._is_full_backward_hook = full

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(SAME_FUNCTION)
        return register(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) after state_dict."""
        hook._from_public_api = True
        return register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before state_dict."""
        return register(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False):
        return register(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs) before this module is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after this module has been loaded."""
        return register(self._load_state_dict_post_hooks, hook)

    # ---- state dict

    def get_extra_state(self):
        """Further state for state_dict; for subclasses to define."""
        raise RuntimeError(NEVER_CALLED.format(name="get_extra_state"))

    def set_extra_state(self, state) -> None:
        """Take what get_extra_state returned; for subclasses to define."""
        raise RuntimeError(NEVER_CALLED.format(name="set_extra_state"))

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix: str = "", keep_vars: bool = False):
        """The parameters and persistent buffers by path; they share the module's memory.

        They come detached unless `keep_vars`.
        """
        if args:
            warn(POSITIONAL, FutureWarning)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def load_state_dict(self, state_dict: Mapping, strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy a state dict's values into the module, or with `assign` take its tensors.

        RuntimeError for shapes that differ and, if `strict`, for keys that do not match; returns
        (missing_keys, unexpected_keys).
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        loading = Loading(metadata, assign)
        loading.load(self, state_dict)
        return loading.finish(self, strict)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Load the members of this module alone."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        members = [
            *self._parameters.items(),
            *((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set),
        ]
        known = {name for name, member in members if member is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name in dict.fromkeys(name for name, _ in members if name in known):
            key = prefix + name
            if key in state_dict:
                load_member(self, name, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + EXTRA_STATE, strict, missing_keys, unexpected_keys)
        if strict:
            note_unexpected(self, state_dict, prefix, known, unexpected_keys)

    def _load_extra_state(self, state_dict, key: str, strict, missing_keys, unexpected_keys):
        if type(self).set_extra_state is not Module.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    # ---- printing and pickling

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What repr() shows of the module itself; for subclasses to define."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        extra = extra.split("\n") if extra else []
        below = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(extra) == 1 and not below:
            return f"{self._get_name()}({extra[0]})"
        if not extra and not below:
            return f"{self._get_name()}()"
        return "{}(\n  {}\n)".format(self._get_name(), "\n  ".join(extra + below))

    def _repr_html_(self):
        return _html.tree(self)

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        for key, make in _STATE.items():  # what older checkpoints lack
            if key not in self.__dict__ and key not in ("training", "_parameters", "_modules"):
                self.__dict__[key] = make()

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = {
            **self.__dict__,
            "_parameters": {},
            "_buffers": self._buffers.copy(),
            "_modules": self._modules.copy(),
            "_is_replica": True,
        }
        return replica


# Types, not their names, which programs that ask for the hints of a module evaluate elsewhere.
Module.__annotations__ = get_type_hints(Module, globals())


def _attribute_of(module: Module, name: str):
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def _addindent(text: str, spaces: int) -> str:
    """The text with all lines but the first indented."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

sys.modules[__name__].__class__ = ModuleOfTables
