"""Inputs split for several devices, and outputs put together."""

from __future__ import annotations

from ...torch.tensors.base import Tensor
from ...torch.tensors.pytree import tree_flatten, tree_unflatten
from . import comm


def scatter(inputs, target_gpus, dim: int = 0) -> list:
    """A tree, its tensors split, once for each device; other leaves are the same for all.

    >>> from torch.nn.parallel import scatter
    >>> scatter((torch.arange(4), "a"), [0, 1])
    [(tensor([0, 1]), 'a'), (tensor([2, 3]), 'a')]
    """
    leaves, spec = tree_flatten(inputs)
    n = len(target_gpus)
    split = [comm.scatter(x, target_gpus, dim=dim) if isinstance(x, Tensor) else (x,) * n for x in leaves]
    count = min([n, *(len(parts) for parts in split)])
    return [tree_unflatten([parts[i] for parts in split], spec) for i in range(count)]


def scatter_kwargs(inputs, kwargs, target_gpus, dim: int = 0) -> tuple[tuple, tuple]:
    """Arguments and keyword arguments, split for each device.

    >>> from torch.nn.parallel import scatter_kwargs
    >>> scatter_kwargs((torch.arange(2),), {"scale": 3}, [0, 1])
    (((tensor([0]),), (tensor([1]),)), ({'scale': 3}, {'scale': 3}))
    """
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    n = max(len(args), len(named))
    return (tuple(args + [()] * (n - len(args))), tuple(named + [{}] * (n - len(named))))


def gather(outputs, target_device, dim: int = 0):
    """Trees of tensors as one, the tensors put together; scalars become vectors.

    >>> from torch.nn.parallel import gather
    >>> gather([torch.tensor([1]), torch.tensor([2, 3])], 0)
    tensor([1, 2, 3])
    """
    flat = [tree_flatten(x) for x in outputs]
    columns = zip(*(leaves for leaves, _ in flat))
    return tree_unflatten([_gathered(column, dim) for column in columns], flat[0][1])


def _gathered(tensors: tuple, dim: int):
    if not isinstance(tensors[0], Tensor):
        return tensors[0]
    return comm.gather([x.unsqueeze(0) if x.dim() == 0 else x for x in tensors], dim)


__all__ = ["gather", "scatter", "scatter_kwargs"]
