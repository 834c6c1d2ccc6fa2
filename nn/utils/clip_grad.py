"""Limits for gradients."""

from __future__ import annotations

import types

from ...core.warn import warn
from ...torch import (
    _foreach_clamp_max_,
    _foreach_clamp_min_,
    _foreach_mul_,
    _foreach_norm,
    clamp,
    result_type,
    stack,
    tensor,
)
from ...torch.namespaces import linalg
from ...torch.tape.modes import no_grad
from ...torch.tensors.base import Tensor

NON_FINITE = (
    "The total norm of order {order} for gradients from `parameters` is non-finite, so "
    "it cannot be clipped. To disable this error and scale the gradients by the "
    "non-finite norm anyway, set `error_if_nonfinite=False`"
)


def _gradients(parameters) -> list:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None):
    """The norm of tensors as if they were one vector.

    RuntimeError for a norm that is not finite, if `error_if_nonfinite`.

    >>> nn.utils.get_total_norm([torch.tensor([3.]), torch.tensor([4.])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    norms = _foreach_norm(tensors, norm_type)
    device = tensors[0].device
    dtypes = {n.dtype for n in norms}
    if len(dtypes) > 1:  # the widest, as stack would need one
        widest = norms[0].dtype
        for n in norms:
            widest = result_type(n, tensor(0, dtype=widest))
        norms = [n.to(widest) for n in norms]
    total = linalg.vector_norm(stack([n.to(device) for n in norms]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(NON_FINITE.format(order=norm_type))
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm: float, total_norm, foreach: bool | None = None):
    """Scale the gradients by max_norm / total_norm where that is less than 1, in place.

    >>> p = nn.Parameter(torch.ones(1))
    >>> (p * 5).sum().backward()
    >>> nn.utils.clip_grads_with_norm_([p], 1., torch.tensor(5.))
    >>> p.grad
    tensor([1.0000])
    """
    grads = _gradients(parameters)
    if grads:
        factor = clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        _foreach_mul_(grads, factor)


@no_grad()
def clip_grad_norm_(
    parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
):
    """Scale the gradients, in place, to a total norm of at most max_norm; returns what it was.

    >>> layer = nn.Linear(2, 1)
    >>> layer(torch.tensor([3., 4.])).backward()
    >>> float(nn.utils.clip_grad_norm_([layer.weight], 1.))
    5.0
    """
    if isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warn("`parameters` is an empty generator, no gradient clipping will occur.")
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
):
    """Deprecated name of clip_grad_norm_.

    >>> x = torch.ones(2, requires_grad=True)
    >>> (x * torch.tensor([3., 4.])).sum().backward()
    >>> nn.utils.clip_grad_norm(x, 1.)
    tensor(5.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Limit the elements of the gradients to [-clip_value, clip_value], in place.

    >>> p = nn.Parameter(torch.ones(2))
    >>> (p * 5).sum().backward()
    >>> nn.utils.clip_grad_value_([p], 1.)
    >>> p.grad
    tensor([1., 1.])
    """
    grads, limit = _gradients(parameters), float(clip_value)
    if grads:
        _foreach_clamp_min_(grads, -limit)
        _foreach_clamp_max_(grads, limit)


__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
