"""torch.distributed.algorithms.model_averaging.utils: the mean of all processes' parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .....tape.modes import no_grad
from .....tensors.base import Tensor
from ... import collectives
from ...group import ReduceOp


def average_parameters(params: Iterable[Tensor], process_group) -> None:
    """Each parameter becomes the mean of those of all processes.

    >>> from torch.distributed.algorithms.model_averaging.utils import average_parameters
    >>> average_parameters(nn.Linear(2, 1).parameters(), None)
    """
    with no_grad():
        collectives.all_reduce_coalesced([p.detach() for p in params], ReduceOp.AVG, process_group)


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters, or those of the groups of an optimizer, that have a gradient.

    >>> from torch.distributed.algorithms.model_averaging.utils import get_params_to_average
    >>> get_params_to_average(nn.Linear(2, 1).parameters())
    []
    """

    def all_of_them() -> Iterator[Tensor]:
        for param in params:
            if isinstance(param, Tensor):
                yield param
            elif isinstance(param, dict):
                yield from param["params"]
            else:
                raise NotImplementedError(f"Parameter input of type {type(param)} is not supported")

    return [p for p in all_of_them() if p.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group) -> None:
    """average_parameters of those that have a gradient.

    >>> from torch.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups
    >>> average_parameters_or_parameter_groups(torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1).param_groups, None)
    """
    found = get_params_to_average(params)
    if found:
        average_parameters(found, process_group)
