"""Which of PyTorch's implementations of a step is meant: what optimizers that are written after PyTorch's ask.

The answers are PyTorch's, for their lists of arguments; here one program updates all parameters on every device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..torch import float32, float64, get_default_dtype, view_as_real
from ..torch.compat.compiler import is_compiling
from ..torch.compat.utils._foreach_utils import (
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
)
from ..torch.dispatch.parameter import Parameter
from ..torch.tensors.base import Tensor

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

_foreach_supported_types = [Tensor, Parameter]
_params_doc = "params (iterable): the parameters, pairs of a name and a parameter, or dicts of parameter groups"
_foreach_doc = "foreach (bool, optional): whether a step takes the parameters as lists (default: None)"
_fused_doc = "fused (bool, optional): whether a step is one kernel (default: None)"
_capturable_doc = "capturable (bool, optional): whether a step can be captured in a graph (default: False)"
_differentiable_doc = "differentiable (bool, optional): whether gradients go through a step (default: False)"
_maximize_doc = "maximize (bool, optional): maximize the objective instead of minimizing it (default: False)"


def _default_to_fused_or_foreach(params, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """(fused, foreach): which implementation PyTorch takes for these parameters where none was asked for."""
    if differentiable:
        return False, False
    there = [p for p in params if p is not None]
    plain = all(type(p) in _foreach_supported_types for p in there)
    kinds = {p.device.type for p in there}
    fused = plain and use_fused and all(p.is_floating_point() for p in there)
    fused = fused and kinds <= {*_get_fused_kernels_supported_devices()}
    return fused, not fused and plain and kinds <= {*_get_foreach_kernels_supported_devices()}


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False):
    """RuntimeError for a parameter that PyTorch has no fused kernel for."""
    devices = [d for d in _get_fused_kernels_supported_devices() if not (cuda_unsupported and d == "cuda")]
    if p.device.type not in devices or not p.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}"
        )


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices on which PyTorch captures steps in graphs."""
    return ["cuda", "xpu", "hpu", "privateuseone", *["xla"][:supports_xla]]


def _view_as_real(params: list, *state_and_grads: list):
    """Replace complex parameters in a list, and what belongs to them in others, by real views."""
    for i, p in enumerate(params):
        if p.is_complex():
            for column in (params, *state_and_grads):
                column[i] = view_as_real(column[i])


def _get_scalar_dtype(is_fused: bool | None = None):
    """The dtype of counts of steps."""
    return float64 if get_default_dtype() is float64 and not is_fused else float32


def _to_scalar(x):
    """A hyperparameter: a tensor of one element without dimensions, anything else as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def _get_value(x):
    """The number in a tensor; the tensor itself while it is compiled."""
    return x.item() if isinstance(x, Tensor) and not is_compiling() else x


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable | None = None) -> Callable[[Callable], Callable]:
    """A decorator without effect: nothing that is compiled here is unsupported for its counts of steps."""
    return lambda function: function
