"""What conversions of a module (to, half, to_empty, ...) do to its parameters."""

from __future__ import annotations

from collections.abc import Callable

from ...torch.compat import __future__ as switches
from ...torch.compat.utils import swap_tensors
from ...torch.tape.modes import no_grad
from ...torch.tensors.active import active
from ..parameter import Parameter


def converted(param: Parameter, fn: Callable, place: str) -> Parameter:
    """The parameter with what fn makes of its data and of its gradient.

    It is another parameter where those go to or come from the meta device, and where torch.__future__ says so.
    """
    grad = param.grad
    with no_grad():
        new = fn(param)
    if active.observer is not None:  # PyTorch asks for each whether its data can be exchanged
        for _ in range(2):
            active.observer.mentions("aten::_has_compatible_shallow_copy_type", param, new)
    if switches.get_swap_module_params_on_conversion() or (new is not param and new._device is not None):
        _swap(param, Parameter(new, param.requires_grad), place)
    elif new is not param or switches.get_overwrite_module_params_on_conversion():
        param = _replaced(param, new)
    if grad is not None:
        _convert_grad(param, grad, fn)
    return param


def _replaced(param: Parameter, new) -> Parameter:
    if new.is_meta != param.is_meta or switches.get_overwrite_module_params_on_conversion():
        return Parameter(new, param.requires_grad)
    param.data = new
    return param


def _convert_grad(param: Parameter, grad, fn: Callable):
    with no_grad():
        new = fn(grad)
    if switches.get_swap_module_params_on_conversion():
        new = new.detach() if new is grad else new
        swap_tensors(grad, new.requires_grad_(grad.requires_grad))
        param.grad = grad
    elif new is not grad:
        if param.grad is grad and new.is_meta == grad.is_meta:
            grad.data = new
        else:
            param.grad = new.requires_grad_(grad.requires_grad)
    elif param.grad is not grad:
        param.grad = grad


def _swap(param: Parameter, new: Parameter, place: str):
    try:
        swap_tensors(param, new)
    except Exception as error:
        raise RuntimeError(f"_apply(): Couldn't swap {place}") from error


def loaded(param, value, assign: bool):
    """`param` in place, with what it loads of a state dict's tensor, where modules swap their tensors."""
    new = param.module_load(value, assign=assign)
    if new is param or new is value:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs "
            "in module_load"
        )
    if isinstance(param, Parameter):
        if isinstance(new, Parameter):
            new.requires_grad_(param.requires_grad)
        else:
            new = Parameter(new, requires_grad=param.requires_grad)
    swap_tensors(param, new)
