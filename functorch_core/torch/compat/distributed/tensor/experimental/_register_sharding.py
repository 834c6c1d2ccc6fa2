"""torch.distributed.tensor.experimental.register_sharding: how operators of one's own take DTensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....library.custom_ops import Operator
from ..api import DTensor, is_distributed, mesh_of_tensor, placements_of
from ..placement_types import Placement, Replicate
from ._func_map import local_map

BUILT_IN = (
    "register_sharding({op}): operators of this library are divided by XLA, whatever lies how; only those that "
    "torch.library defines have rules of one's own"
)
NO_RULE = "register_sharding({op}): none of the {n} combinations that its rule gave can be taken for {shapes}"


def register_sharding(op: Any) -> Callable[[Callable], Callable]:
    """Decorator of a function that says how an operator of torch.library's (or a list of them) takes DTensors.

    The function is called with the operator's arguments and returns pairs (placements of the results, placements of the
    arguments, None for what is no tensor), for one dimension of a mesh. Of these, for each dimension of the mesh, the
    one is taken for which the least has to be moved; each process then calls the operator with its parts.
    NotImplementedError for PyTorch's own operators.

    >>> from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    >>> from torch.distributed.tensor.experimental import register_sharding
    >>> @torch.library.custom_op("pages::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...   return torch.from_numpy(x.numpy() * 2)
    >>> @register_sharding(torch.ops.pages.twice.default)
    ... def rule(x):
    ...   return [([Replicate()], [Replicate()])] + [([Shard(d)], [Shard(d)]) for d in range(x.ndim)]
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> twice(distribute_tensor(torch.ones(2), mesh, [Shard(0)])).placements
    (Shard(dim=0),)
    """
    overloads = op if isinstance(op, (list, tuple)) else [op]
    operators = []
    for overload in overloads:
        operator = getattr(getattr(overload, "overloadpacket", None), "_function", None)
        if not isinstance(operator, Operator):
            raise NotImplementedError(BUILT_IN.format(op=overload))
        operators.append(operator)

    def decorate(rule: Callable) -> Callable:
        for operator in operators:
            operator.distributed = _Divided(operator, rule)
        return rule

    return decorate


class _Divided:
    """What is called in an operator's place where arguments are DTensors."""

    def __init__(self, operator: Operator, rule: Callable):
        self.operator, self.rule = operator, rule

    def takes(self, args: tuple, kwargs: dict) -> bool:
        """Whether there is a DTensor among the arguments."""
        return any(is_distributed(x) for x in (*args, *kwargs.values()))

    def __call__(self, args: tuple, kwargs: dict):
        values = [*args, *kwargs.values()]
        mesh = mesh_of_tensor(next(x for x in values if is_distributed(x)))
        every = [Replicate()] * mesh.ndim
        values = [DTensor.from_local(x, mesh, every) if _is_plain(x) else x for x in values]
        choices = [
            ([*outs], [*ins]) for outs, ins in self.rule(*values[: len(args)], **dict(zip(kwargs, values[len(args) :])))
        ]
        chosen = [_cheapest(choices, values, k) for k in range(mesh.ndim)]
        if None in chosen:
            shapes = [tuple(x.shape) for x in values if is_distributed(x)]
            raise RuntimeError(NO_RULE.format(op=self.operator.name, n=len(choices), shapes=shapes))
        found = [choices[i] for i in chosen]
        ins = tuple([tuple(c[1][k] for c in found) if is_distributed(x) else None for k, x in enumerate(values)])
        outs = [tuple(c[0][k] for c in found) for k in range(len(found[0][0]))]
        n = len(args)

        def local(*parts):
            return self.operator.kernel()(*parts[:n], **dict(zip(kwargs, parts[n:])))

        out_placements = tuple(outs) if len(outs) > 1 else list(outs[0])
        return local_map(local, out_placements, ins, redistribute_inputs=True)(*values)


def _is_plain(x) -> bool:
    return hasattr(x, "_read") and not is_distributed(x)


def _cheapest(choices: list, values: Sequence, k: int) -> int | None:
    """The number of the choice for which the fewest elements have to be moved along dimension k of the mesh."""
    costs = []
    for i, (_, ins) in enumerate(choices):
        cost = [_cost(x, wanted, k) for x, wanted in zip(values, ins) if is_distributed(x)]
        if None not in cost:
            costs.append((sum(cost), i))
    return min(costs)[1] if costs else None


def _cost(x, wanted: Placement, k: int) -> int | None:
    """How many elements come to each process of dimension k of the mesh; None if the placement cannot be."""
    n, now = mesh_of_tensor(x).shape[k], placements_of(x)[k]
    if wanted.is_shard():
        dim = wanted.dim % max(x.dim(), 1)
        if not x.dim() or x.shape[dim] % n:
            return None
        return 0 if now == wanted or not now.is_shard() else x.numel() // n
    return 0 if not now.is_shard() else x.numel()
