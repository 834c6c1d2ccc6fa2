"""Modules whose parameters get their shapes from the first input."""

from __future__ import annotations

from itertools import chain

from ...torch.tape.modes import no_grad
from ..parameter import is_lazy


class LazyModuleMixin:
    """Parameters and buffers start uninitialized; the first call (or a loaded state dict) gives
    them their shapes, and the module becomes `cls_to_become`.

    Subclasses define `initialize_parameters(*args)`, which is called with the first input.

    >>> layer = nn.LazyLinear(2)
    >>> layer.has_uninitialized_params()
    True
    >>> _ = layer(torch.ones(1, 3))
    >>> layer.weight.shape
    torch.Size([2, 3])
    """

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args, **kwargs):
        """Give the parameters their shapes, from the first input."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, chain(self._parameters.values(), self._buffers.values())))

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        persistent = ((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set)
        for name, member in chain(self._parameters.items(), persistent):
            if member is not None:
                kept = keep_vars or is_lazy(member)
                destination[prefix + name] = member if kept else member.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for name, member in chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if is_lazy(member) and loaded is not None and not is_lazy(loaded):
                with no_grad():
                    member.materialize(loaded.shape)

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with "
            "`DataParallel`. Run a dummy forward pass to correctly initialize the "
            "modules"
        )


__all__ = ["LazyModuleMixin"]
