"""A linear function of a pytree whose transpose is given."""

from __future__ import annotations

from collections.abc import Callable

from ..core import tree
from ..core.trace import bind, trace_closed
from ..transforms.linear_map import linear_map_p
from .array import wrap
from .trees import flatten_values


def linear_call(fun: Callable, fun_transpose: Callable, residuals, operand):
    """fun(residuals, operand), linear in the operand, which is transposed by fun_transpose(residuals, cotangent).

    Neither closes over traced values.

    >>> import functorch_core as fc
    >>> from functorch_core.array.linear import linear_call
    >>> f = lambda x: linear_call(lambda r, x: r * x, lambda r, ct: 7 * ct, fc.asarray(2.), x)
    >>> f(fc.asarray(3.)), fc.grad(f)(fc.asarray(3.))
    (Array(6., dtype=float32), Array(7., dtype=float32))
    """
    values, operand_tree = flatten_values(operand, "the operand", "linear_call")
    rest, rest_tree = flatten_values(residuals, "the residuals", "linear_call")
    n, found = len(values), {}

    def flat(function: Callable, of: Callable, m: int, key: str) -> Callable:
        def call(*args):
            given = of().unflatten([wrap(v) for v in args[:m]])
            out = function(rest_tree.unflatten([wrap(v) for v in args[m:]]), given)
            leaves, found[key] = flatten_values(out, "a result", "linear_call")
            return leaves

        return call

    others = [v.aval for v in rest]
    there = trace_closed(flat(fun, lambda: operand_tree, n, "out"), [*[v.aval for v in values], *others], "linear")
    back_of = flat(fun_transpose, lambda: found["out"], len(there.outputs), "back")
    back = trace_closed(back_of, [*there.out_avals, *others], "transposed")
    if found["back"] != operand_tree or list(back.out_avals) != [v.aval for v in values]:
        raise TypeError("linear_call: fun_transpose must return a cotangent like the operand")
    outs = bind(linear_map_p, *values, *rest, forward=there, backward=back, n=n, both=False)
    return tree.unflatten(found["out"], [wrap(v) for v in outs])
