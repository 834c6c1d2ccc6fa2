"""Parameters as one vector, and back."""

from __future__ import annotations

from ...torch import cat
from ...torch.tensors.base import Tensor
from ..modules._names import typename


def parameters_to_vector(parameters):
    """All parameters flattened, one after the other.

    >>> nn.utils.parameters_to_vector(nn.Linear(2, 3).parameters()).shape
    torch.Size([9])
    """
    return cat([p.reshape(-1) for p in _on_one_device(parameters)])


def vector_to_parameters(vec, parameters) -> None:
    """Give the parameters the elements of a vector, in turn.

    >>> net = nn.Linear(1, 1)
    >>> nn.utils.vector_to_parameters(torch.tensor([2., 3.]), net.parameters())
    >>> net.bias.data
    tensor([3.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for param in _on_one_device(parameters):
        stop = start + param.numel()
        param.data = vec[start:stop].view(param.shape).data
        start = stop


def _on_one_device(parameters) -> list:
    parameters = list(parameters)
    if len({p.device for p in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return parameters


__all__ = ["parameters_to_vector", "vector_to_parameters"]
