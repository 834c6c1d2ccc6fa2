"""torch.distributed.fsdp.wrap: which modules of a model become wrappers of their own.

A policy is a function (module, recurse, nonwrapped_numel): with recurse=True whether to look inside of the module, else
whether to wrap it, with so many elements of parameters that nothing inside of it has; or a ModuleWrapPolicy, or a
CustomPolicy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..... import nn
from .... import _missing


def always_wrap_policy(*args, **kwargs) -> bool:
    """Wrap every module.

    >>> torch.distributed.fsdp.wrap.always_wrap_policy(nn.ReLU(), recurse=False, nonwrapped_numel=0)
    True
    """
    return True


def lambda_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable) -> bool:
    """Wrap the modules for which lambda_fn(module) is true.

    >>> policy = torch.distributed.fsdp.wrap.lambda_auto_wrap_policy
    >>> policy(nn.ReLU(), False, 0, lambda_fn=lambda module: isinstance(module, nn.Linear))
    False
    """
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls) -> bool:
    """Wrap the modules of these classes.

    >>> policy = torch.distributed.fsdp.wrap.transformer_auto_wrap_policy
    >>> policy(nn.Linear(2, 2), False, 6, transformer_layer_cls={nn.Linear})
    True
    """
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set | None = None,
    exclude_wrap_modules: set | None = None,
) -> bool:
    """Wrap modules with so many elements of parameters, without those that are wrapped inside of them.

    >>> policy = torch.distributed.fsdp.wrap.size_based_auto_wrap_policy
    >>> policy(nn.Linear(2, 2), False, 6, min_num_params=5)
    True
    """
    leaves = size_based_auto_wrap_policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    never = size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else never))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {nn.ModuleList, nn.ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {nn.MultiheadAttention}


def _or_policy(module, recurse: bool, nonwrapped_numel: int, policies) -> bool:
    """Whether one of several policies says so."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class ModuleWrapPolicy:
    """Wrap the modules of these classes.

    >>> policy = torch.distributed.fsdp.wrap.ModuleWrapPolicy({nn.Linear})
    >>> policy(nn.Linear(2, 2), recurse=False), policy(nn.ReLU(), recurse=False)
    (True, False)
    """

    def __init__(self, module_classes: Iterable[type]):
        self._module_classes = set(module_classes)

    def __call__(self, module, recurse: bool, *args, **kwargs) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"<torch.distributed.fsdp.wrap.ModuleWrapPolicy object>({self._module_classes})"


class CustomPolicy:
    """Wrap the modules for which a function gives True, or a dict of arguments for their wrappers.

    >>> policy = torch.distributed.fsdp.wrap.CustomPolicy(lambda module: isinstance(module, nn.Linear))
    >>> policy._options(nn.Linear(2, 2)), policy._options(nn.ReLU())
    ({}, None)
    """

    def __init__(self, lambda_fn: Callable):
        self._lambda_fn = lambda_fn

    def _options(self, module) -> dict | None:
        """The arguments of a module's wrapper; None if it gets none."""
        found = self._lambda_fn(module)
        if not isinstance(found, (bool, dict)):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                f"but it returned {found}"
            )
        return found if isinstance(found, dict) else {} if found else None


def wrap_inside(module, policy, wrapper: Callable, left_out: Callable[[Any], bool]):
    """Wrap the modules inside of one as a policy says, innermost first: wrapper(module, **options).

    >>> from torch.distributed.fsdp import wrap
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    >>> wrap.wrap_inside(model, wrap.ModuleWrapPolicy({nn.Linear}), nn.Sequential, lambda module: False)
    >>> model[0]
    Sequential(
      (0): Linear(in_features=2, out_features=2, bias=True)
    )
    """
    _Wrapping(policy, wrapper, left_out).inside(module)


class _Wrapping:
    def __init__(self, policy, wrapper: Callable, left_out: Callable[[Any], bool]):
        self.policy, self.wrapper, self.left_out = policy, wrapper, left_out
        self.done: dict[int, tuple[Any, int]] = {}  # modules that are shared are wrapped once

    def inside(self, module) -> int:
        """Wrap what is inside of a module; how many elements these have."""
        wrapped = 0
        for name, child in list(module._modules.items()):
            if child is None or self.left_out(child):
                continue
            if id(child) not in self.done:
                self.done[id(child)] = self._child(child)
            module._modules[name], n = self.done[id(child)]
            wrapped += n
        return wrapped

    def _child(self, module) -> tuple[Any, int]:
        """(the module, wrapped or not, how many elements of it are in wrappers)."""
        n, inner = sum(p.numel() for p in module.parameters()), 0
        if self._looks_inside(module, n):
            inner = self.inside(module)
        options = self._options(module, n - inner)
        return (module, inner) if options is None else (self.wrapper(module, **options), n)

    def _looks_inside(self, module, n: int) -> bool:
        if isinstance(self.policy, CustomPolicy):
            return True
        return self.policy(module=module, recurse=True, nonwrapped_numel=n)

    def _options(self, module, n: int) -> dict | None:
        if isinstance(self.policy, CustomPolicy):
            return self.policy._options(module)
        return {} if self.policy(module=module, recurse=False, nonwrapped_numel=n) else None


# ---- by hand -------------------------------------------------------------------------------------


class _Enabled(threading.local):
    wrapper: tuple[Callable, dict] | None = None


_enabled = _Enabled()


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside of it `wrap` wraps, in this class with these arguments.

    >>> from torch.distributed.fsdp.wrap import enable_wrap, wrap
    >>> with enable_wrap(wrapper_cls=nn.Sequential):
    ...   print(wrap(nn.ReLU()))
    Sequential(
      (0): ReLU()
    )
    """
    before, _enabled.wrapper = _enabled.wrapper, (wrapper_cls, wrapper_kwargs)
    try:
        yield
    finally:
        _enabled.wrapper = before


def wrap(module, **wrap_overrides: Any):
    """The module, wrapped inside of `enable_wrap`, unchanged outside.

    >>> torch.distributed.fsdp.wrap.wrap(nn.ReLU())
    ReLU()
    """
    if _enabled.wrapper is None:
        return module
    wrapper, options = _enabled.wrapper
    return wrapper(module, **{**options, **wrap_overrides})


__getattr__ = _missing.getter(__name__)
