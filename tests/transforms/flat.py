"""User-level transforms of functions of flat values, as small as can be, for the tests.

    f(*values) -> value, or a sequence of values

Each traces f, transforms the graph and writes the result where it is called, so that they nest.
"""

from __future__ import annotations

import numpy as np

from functorch_core.core.aval import aval_of
from functorch_core.core.graph import Graph, cse, dce, subgraphs, validate
from functorch_core.core.trace import evaluate, run, trace
from functorch_core.primitives import constant, full, reduce_sum
from functorch_core.transforms import batch as batch_module
from functorch_core.transforms import jvp as jvp_module
from functorch_core.transforms import transpose as transpose_module
from functorch_core.transforms.batch import Axis
from tests.primitives.check import close, compiled


def graph_of(f, args):
    """(validated graph, captured values, whether f returns one bare value)."""
    single = []

    def flat(*values):
        out = f(*values)
        single.append(not isinstance(out, (list, tuple)))
        return [out] if single[-1] else list(out)

    graph, captures = trace(flat, [aval_of(a) for a in args])
    return validate(graph), captures, single[-1]


def _bare(values, single):
    return values[0] if single else list(values)


def vjp(f, *args, wrt=None):
    """(outs, pull) with pull(*cotangents) -> gradients of the arguments in `wrt`."""
    graph, captures, single = graph_of(f, args)
    wrt = range(len(args)) if wrt is None else wrt
    mask = tuple(i in wrt for i in range(len(args))) + (False,) * len(captures)
    v = transpose_module.vjp(graph, mask)
    validate(v.forward), validate(v.backward)
    outs = run(v.forward, [*args, *captures])
    n = len(graph.outputs)

    def pull(*cotangents):
        given = [c for c, m in zip(cotangents, v.out_mask, strict=True) if m]
        return run(v.backward, [*outs[n:], *given])

    return _bare(outs[:n], single), pull


def grad(f, wrt=0):
    """The gradient of a scalar function: of one argument, or a list for a tuple of them."""

    def gradient(*args):
        which = (wrt,) if isinstance(wrt, int) else wrt
        out, pull = vjp(f, *args, wrt=which)
        found = pull(constant(np.ones((), out.dtype)))
        return found[0] if isinstance(wrt, int) else found

    return gradient


def jvp(f, primals, tangents):
    """(outs, tangents of the outs)."""
    graph, captures, single = graph_of(f, primals)
    n = len(graph.outputs)
    mask = (True,) * len(primals) + (False,) * len(captures)
    dual, out_mask = jvp_module.jvp(graph, mask, (True,) * n)
    validate(dual)
    outs = run(dual, [*primals, *captures, *tangents])
    assert all(out_mask)
    return _bare(outs[:n], single), _bare(outs[n:], single)


def vmap(f, dims=0, size=None, name=None):
    """f over a batch dimension of its arguments; outputs are batched at 0."""

    def mapped(*args):
        in_dims = (dims,) * len(args) if dims is None or isinstance(dims, int) else tuple(dims)
        n = size or next(a.shape[d] for a, d in zip(args, in_dims) if d is not None)
        examples = [
            a if d is None else _Like(a.aval.with_shape(a.shape[:d] + a.shape[d + 1 :])) for a, d in zip(args, in_dims)
        ]
        graph, captures, single = _named(f, examples, name, n)
        want = (0,) * len(graph.outputs)
        new, _ = batch_module.batch(graph, Axis(n, name), in_dims + (None,) * len(captures), want)
        validate(new)
        return _bare(run(new, [*args, *captures]), single)

    return mapped


def _named(f, examples, name, size):
    if name is None:
        return graph_of(f, examples)
    from functorch_core.transforms.collectives import bound_axis

    with bound_axis(name, size):
        return graph_of(f, examples)


class _Like:
    def __init__(self, aval):
        self.aval = aval


def hessian(f):
    """The matrix of second derivatives of a scalar function of a vector: forward over reverse."""

    def matrix(x):
        basis = constant(np.eye(x.shape[0], dtype=x.dtype))
        return vmap(lambda t: jvp(grad(f), (x,), (t,))[1])(basis)

    return matrix


def total(x):
    """The sum of all elements."""
    return reduce_sum(x, axes=tuple(range(x.ndim)))


def const_like(x, number):
    """An array of one number in the shape and dtype of x."""
    return full(x.shape, number, x.dtype)


def closed_graph(f, args) -> Graph:
    """The cleaned graph of f at concrete arrays."""
    graph, captures, _ = graph_of(f, [np.asarray(a) for a in args])
    assert not captures
    return validate(cse(dce(graph)))


def both(f, *args, tol=1e-9):
    """f(*args) by the reference and compiled, which must agree; a list of arrays."""
    args = [np.asarray(a) for a in args]
    graph = closed_graph(f, args)
    outs = evaluate(graph, args)
    for i, (c, r) in enumerate(zip(compiled(graph, args), outs, strict=True)):
        close(c, r, tol, f"compiled against reference, output {i}")
    return outs


def same(f, g, *args, tol=1e-9):
    """f and g agree at args, each by the reference and compiled."""
    for i, (x, y) in enumerate(zip(both(f, *args), both(g, *args), strict=True)):
        close(x, y, tol, f"output {i}")


def numeric_grad(f, x, eps=1e-6):
    """The gradient of a NumPy function of one array, by central differences."""
    x = np.asarray(x, np.float64)
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = eps
        out[i] = (f(x + step) - f(x - step)) / (2 * eps)
    return out


def nodes_of(graph):
    """All nodes, those of graphs inside included."""
    for node in graph.nodes:
        yield node
        for sub in subgraphs(node):
            yield from nodes_of(sub)


def count(graph, name):
    """How many nodes of this primitive the graph has, inside others too."""
    return sum(node.primitive.name == name for node in nodes_of(graph))
