"""Loading a state dict into a module."""

from __future__ import annotations

from collections import namedtuple

from ...core.warn import warn
from ...torch.compat.__future__ import get_swap_module_params_on_conversion
from ...torch.tape.modes import no_grad
from ...torch.tensors.base import Tensor
from ..parameter import Parameter, is_lazy
from ._conversion import loaded

EXTRA_STATE = "_extra_state"
NOT_A_TENSOR = (
    'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
    "object from checkpoint but received {kind}"
)
WRONG_SHAPE = (
    "size mismatch for {key}: copying a param with shape {found} from checkpoint, the "
    "shape in current model is {wanted}."
)
COPY_FAILED = (
    'While copying the parameter named "{key}", whose dimensions in the model are '
    "{wanted} and whose dimensions in the checkpoint are {found}, an exception occurred "
    ": {why}."
)
HOOK_RETURNED = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
    "return new values, if incompatible_keys need to be modified, it should be done "
    "inplace."
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class Loading:
    """One load_state_dict: what is missing, what is unexpected, and what went wrong."""

    def __init__(self, metadata, assign: bool):
        self.metadata, self.assign = metadata, assign
        self.missing, self.unexpected, self.errors = [], [], []

    def load(self, module, state: dict, prefix: str = ""):
        """Load a module and what is below it; `state` holds the keys that begin with the prefix."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {k: v for k, v in state.items() if k.startswith(below)}, below)
        keys = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(HOOK_RETURNED)

    def finish(self, module, strict: bool) -> _IncompatibleKeys:
        """The keys that did not match; RuntimeError if there were errors."""
        if strict:
            for what, keys in (("Unexpected", self.unexpected), ("Missing", self.missing)):
                if keys:
                    listed = ", ".join(f'"{k}"' for k in keys)
                    self.errors.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if self.errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(module).__name__, "\n\t".join(self.errors))
            )
        return _IncompatibleKeys(self.missing, self.unexpected)


NO_OP = (
    "for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in "
    "the current model, which is a no-op. (Did you mean to pass `assign=True` to assign items "
    "in the state dictionary to their corresponding key in the module instead of copying them "
    "in place?)"
)


def load_member(module, name: str, key: str, value, assign: bool, errors: list):
    """Load one parameter or buffer; problems go to `errors`."""
    member = module._parameters.get(name)
    member = module._buffers.get(name) if member is None else member
    if not isinstance(value, Tensor) and not hasattr(type(value), "__torch_function__"):
        errors.append(NOT_A_TENSOR.format(key=key, kind=type(value)))
        return
    if not is_lazy(member):
        if not member.shape and len(value.shape) == 1 and value.shape[0] == 1:
            value = value[0]  # scalars were saved as vectors before PyTorch 0.4
        if value.shape != member.shape:
            errors.append(WRONG_SHAPE.format(key=key, found=value.shape, wanted=member.shape))
            return
    if member.is_meta and not value.is_meta and not assign:
        warn(NO_OP.format(key=key))
    try:
        with no_grad():
            _put(module, name, member, value, assign)
    except Exception as error:
        errors.append(COPY_FAILED.format(key=key, wanted=member.size(), found=value.size(), why=error.args))


def _put(module, name: str, member, value, assign: bool):
    if get_swap_module_params_on_conversion():
        loaded(member, value, assign)
        return
    if not assign:
        member.copy_(value)
        return
    if isinstance(member, Parameter):
        if isinstance(value, Parameter):
            value.requires_grad_(member.requires_grad)
        else:
            value = Parameter(value, requires_grad=member.requires_grad)
    setattr(module, name, value)


def note_unexpected(module, state: dict, prefix: str, known: set, unexpected: list):
    """Collect the keys that neither a member nor a sub-module accounts for."""
    for key in state:
        if not key.startswith(prefix) or key == prefix + EXTRA_STATE:
            continue
        first, dot, _ = key[len(prefix) :].partition(".")
        if first not in (module._modules if dot else known):
            unexpected.append(key)
