"""torch.distributed.algorithms._checkpoint.checkpoint_wrapper: modules whose activations are computed again in the
backward pass, or kept in the host's memory."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

import functorch_core.torch as torch

from ...fsdp.wrap import lambda_auto_wrap_policy, wrap_inside

WRAPPED = "_checkpoint_wrapped_module"
PREFIX = WRAPPED + "."


class CheckpointImpl(enum.Enum):
    """Which of torch.utils.checkpoint's two ways is taken.

    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl
    >>> CheckpointImpl.NO_REENTRANT.name
    'NO_REENTRANT'
    """

    REENTRANT, NO_REENTRANT = 1, 2


class ActivationWrapper(torch.nn.Module):
    """A module around another, whose names of parameters, also in state dicts, are those of the inner one.

    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    >>> wrapped = checkpoint_wrapper(nn.Sequential(nn.Linear(2, 1)))
    >>> list(wrapped.state_dict()), wrapped[0].out_features
    (['0.weight', '0.bias'], 1)
    """

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def forward(self, *args, **kwargs):
        """A derived class says."""
        raise ValueError("Subclasses should implement this")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs) -> Iterator:
        """Parameters, by their names in the inner module."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module, state_dict: dict, prefix: str, *args) -> dict:
        for key in [k for k in state_dict if k.startswith(prefix + PREFIX)]:
            state_dict[prefix + key[len(prefix + PREFIX) :]] = state_dict.pop(key)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module, state_dict: dict, prefix: str, *args):
        for key in [k for k in state_dict if k.startswith(prefix) and not k.startswith(prefix + PREFIX)]:
            state_dict[prefix + PREFIX + key[len(prefix) :]] = state_dict.pop(key)


class OffloadWrapper(ActivationWrapper):
    """A module that keeps what its backward pass needs in the host's memory.

    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import OffloadWrapper
    >>> OffloadWrapper(nn.Linear(2, 1))(torch.ones(1, 2)).shape
    torch.Size([1, 1])
    """

    def forward(self, *args, **kwargs):
        """The inner module's result."""
        with torch.autograd.graph.save_on_cpu(pin_memory=torch.cuda.is_available()):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that is computed again in the backward pass.

    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper
    >>> CheckpointWrapper(nn.Linear(2, 1))(torch.ones(1, 2)).shape
    torch.Size([1, 1])
    """

    def __init__(
        self,
        mod,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable | None = None,
        **checkpoint_fn_kwargs: Any,
    ):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = torch.utils.checkpoint.checkpoint
            checkpoint_fn_kwargs["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn, self._options = checkpoint_fn, checkpoint_fn_kwargs

    def forward(self, *args, **kwargs):
        """The inner module's result."""
        inner = self._checkpoint_wrapped_module
        if self._options.get("use_reentrant") and kwargs:  # which takes no arguments by name
            names = tuple(kwargs)

            def by_position(*given):
                return inner(*given[: len(args)], **dict(zip(names, given[len(args) :])))

            return self.checkpoint_fn(by_position, *args, *kwargs.values(), **self._options)
        return self.checkpoint_fn(inner, *args, **self._options, **kwargs)


def checkpoint_wrapper(
    module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable | None = None,
    **checkpoint_fn_kwargs: Any,
):
    """A module that computes the given one, and again in the backward pass, in place of keeping its activations.

    checkpoint_fn(module, *args, **checkpoint_fn_kwargs): what is called in place of torch.utils.checkpoint.checkpoint.

    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    >>> layer = checkpoint_wrapper(nn.Linear(2, 1))
    >>> layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    >>> layer.weight.grad
    tensor([[1., 1.]])
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module):
    """A module that computes the given one and keeps its activations in the host's memory.

    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import offload_wrapper
    >>> offload_wrapper(nn.Linear(2, 1))(torch.ones(1, 2)).shape
    torch.Size([1, 1])
    """
    return OffloadWrapper(module)


def apply_activation_checkpointing(
    model,
    checkpoint_wrapper_fn: Callable = checkpoint_wrapper,
    check_fn: Callable = lambda _: True,
    auto_wrap_policy: Callable | None = None,
) -> None:
    """Put checkpoint_wrapper_fn(module) in the place of each module within a model for which check_fn(module) is true,
    or that a policy of torch.distributed.fsdp.wrap names. The model itself stays as it is.

    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    >>> apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, nn.Linear))
    >>> [type(module).__name__ for module in model]
    ['CheckpointWrapper', 'ReLU']
    """
    policy = auto_wrap_policy or functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_inside(model, policy, checkpoint_wrapper_fn, lambda _: False)
