"""The two-loop recursion of L-BFGS (Nocedal 1980) as one op."""

from __future__ import annotations

import functools

import functorch_core as fc

from ..array.array import Array, wrap
from ..core.aval import Aval
from ..core.trace import trace_closed
from ..torch import as_tensor
from ..torch.tape.apply import GraphOp, apply
from ..torch.tensors.base import Tensor


def newton_direction(grad: Tensor, changes: list, moves: list, inverses: list, scale) -> tuple:
    """(minus the approximate inverse Hessian times the gradient, the weights of the first loop).

    The history, oldest first: `changes` of the gradient, `moves` of the parameters, `inverses` of
    their inner products. `scale` times the identity is the Hessian's inverse before the first.
    """
    if not changes:  # no step had enough curvature to be remembered
        return grad.neg() * scale, grad.new_zeros(0)
    # Padded with zeros, which add nothing, to a power of two: the op is traced for eight lengths
    # of the history instead of a hundred.
    padding = (1 << (len(changes) - 1).bit_length()) - len(changes) if changes else 0
    columns = [list(changes), list(moves), list(inverses)]
    if padding:
        for column, like in zip(columns, (grad, grad, inverses[0])):
            column += [like.new_zeros(like.shape)] * padding
    scale = as_tensor(scale, dtype=grad.dtype)
    op = _op(len(columns[0]), grad._aval, scale._aval)
    return apply(op, [grad, scale, *columns[0], *columns[1], *columns[2]])


@functools.lru_cache(64)
def _op(n: int, vector: Aval, scalar: Aval) -> GraphOp:
    def fun(grad, scale, *history):
        columns = [history[i * n : (i + 1) * n] for i in range(3)]
        return [x._value for x in two_loops(wrap(grad), wrap(scale), *map(_stacked, columns))]

    avals = [vector, scalar, *[vector] * (2 * n), *[scalar] * n]
    return GraphOp(trace_closed(fun, avals, "lbfgs_direction"), "lbfgs_direction", True)


def _stacked(values) -> Array:
    return fc.stack([wrap(v) for v in values])


def two_loops(grad: Array, scale: Array, changes: Array, moves: Array, inverses: Array):
    """The recursion on a history stacked along the first axis."""

    def backward(q, pair):
        change, move, inverse = pair
        weight = fc.vecdot(move, q) * inverse
        return q - weight * change, weight

    def forward(r, pair):
        change, move, inverse, weight = pair
        return r + (weight - fc.vecdot(change, r) * inverse) * move, None

    q, weights = fc.scan(backward, -grad, (changes, moves, inverses), reverse=True)
    direction, _ = fc.scan(forward, q * scale, (changes, moves, inverses, weights))
    return direction, weights
