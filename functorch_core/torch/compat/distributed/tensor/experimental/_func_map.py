"""torch.distributed.tensor.experimental.local_map: functions of parts of DTensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .....tensors.pytree import tree_flatten, tree_unflatten
from ..api import DTensor, is_distributed, mesh_of_tensor, placements_of

PLACED = "in_placements {wanted} are required for argument {k}, which has {found}; redistribute_inputs=True moves it"
COUNT = "{what} has {found} placements for {n} {values}: one is needed for each"
NOWHERE = "func expects placements but received None for the DTensor argument {k}: in_placements={given}"


def local_map(
    func: Callable | None = None,
    out_placements: Any = None,
    in_placements: tuple | None = None,
    in_grad_placements: tuple | None = None,
    device_mesh=None,
    *,
    redistribute_inputs: bool = False,
) -> Callable:
    """A function of DTensors that calls func with this process's parts of them, and makes DTensors of its results.

    out_placements: how the results lie, or a tuple of that for each; None for what is no tensor. in_placements: how
    each argument has to lie (None for what is no DTensor); ValueError where it does not, unless redistribute_inputs.
    in_grad_placements: how the gradients of the parts lie. device_mesh: of the results; else that of the arguments.
    Without DTensors among the arguments func is called as it is.

    >>> import torch.distributed as dist
    >>> from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    >>> from torch.distributed.tensor.experimental import local_map
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)])
    >>> scaled = local_map(lambda x, k: x * k, out_placements=[Shard(0)], in_placements=([Shard(0)], None))
    >>> scaled(x, 3).placements
    (Shard(dim=0),)
    >>> dist.destroy_process_group()
    """
    options = (out_placements, in_placements, in_grad_placements, device_mesh, redistribute_inputs)
    if func is None:
        return lambda f: functools.wraps(f)(functools.partial(_call, f, options))
    return functools.partial(_call, func, options)


def _call(func: Callable, options: tuple, *args, **kwargs):
    out_placements, in_placements, grad_placements, mesh, moves = options
    flat, spec = tree_flatten(args)
    if in_placements is not None and len(in_placements) != len(flat):
        raise AssertionError(
            COUNT.format(what="in_placements", found=len(in_placements), n=len(flat), values="arguments")
        )
    given = list(flat)
    for k, x in enumerate(flat):
        if is_distributed(x):
            mesh = mesh or mesh_of_tensor(x)
            wanted = in_placements[k] if in_placements is not None else placements_of(x)
            grad = grad_placements[k] if grad_placements is not None else None
            given[k] = _part(x, k, wanted, in_placements, grad, moves)
    found = func(*tree_unflatten(given, spec), **kwargs)
    if all(a is b for a, b in zip(given, flat)):
        return found
    results, shape = tree_flatten(found)
    single = not results or not _is_many(out_placements, len(results), found)
    placements = [out_placements] * len(results) if single else list(out_placements)
    if len(placements) != len(results):
        raise AssertionError(
            COUNT.format(what="out_placements", found=len(placements), n=len(results), values="results")
        )
    placed = [x if p is None else DTensor.from_local(x, mesh, p, run_check=False) for x, p in zip(results, placements)]
    return tree_unflatten(placed, shape)


def _part(x, k: int, wanted: Sequence | None, in_placements, grad: Sequence | None, moves: bool):
    """This process's part of an argument that lies as wanted."""
    if wanted is None:
        raise AssertionError(NOWHERE.format(k=k, given=in_placements))
    if tuple(wanted) != tuple(placements_of(x)):
        if not moves:
            raise ValueError(PLACED.format(wanted=tuple(wanted), k=k, found=placements_of(x)))
        x = x.redistribute(mesh_of_tensor(x), wanted)
    return x.to_local(grad_placements=grad)


def _is_many(out_placements: Any, n: int, found: Any) -> bool:
    """Whether there are placements for each of several results."""
    return isinstance(out_placements, tuple) and isinstance(found, (tuple, list, dict))
