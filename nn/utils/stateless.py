"""Former home of torch.func.functional_call."""

from __future__ import annotations

from ...core.warn import warn
from ...torch.operators.func.modules import functional_call as _functional_call

DEPRECATED = (
    "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will "
    "be removed in a future version of PyTorch. Please use `torch.func.functional_call` "
    "instead which is a drop-in replacement."
)


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights: bool = True, strict: bool = False
):
    """Deprecated: torch.func.functional_call.

    >>> from torch.nn.utils.stateless import functional_call
    >>> functional_call(nn.Linear(2, 1), {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(1, 2))
    tensor([[2.]])
    """
    warn(DEPRECATED, FutureWarning)
    parameters_and_buffers.keys()  # one dict only
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


__all__ = ["functional_call"]
