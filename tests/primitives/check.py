"""The one checker of primitive rules: every rule against something independent of it.

    check(fun, *arrays)     fun is written with primitives, one value or a sequence of values

- the compiled lowering against the NumPy reference,
- jvp against finite differences of the reference (float64/complex128),
- transpose by the dot-product test, <ct, J t> = <J^T ct, t>,
- batching against a Python loop, each operand batched alone and all together, at several dims,
- second order: the jvp of the backward graph against finite differences of it.
"""

from __future__ import annotations

import itertools

import numpy as np

from functorch_core import xla
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval, aval_of
from functorch_core.core.graph import Graph, cse, dce, validate
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate, trace_closed
from functorch_core.transforms.batch import Axis, batch
from functorch_core.transforms.jvp import jvp
from functorch_core.transforms.transpose import vjp

ALL = ("lower", "jvp", "transpose", "batch", "second")


def graph_of(fun, arrays) -> Graph:
    """The validated graph of fun at the arrays' avals."""

    def flat(*values):
        out = fun(*values)
        return out if isinstance(out, (list, tuple)) else (out,)

    return validate(trace_closed(flat, [aval_of(np.asarray(a)) for a in arrays]))


def compiled(graph: Graph, arrays) -> list[np.ndarray]:
    """The outputs of the graph as XLA computes them on the default device."""
    platform = xla.default_device().platform
    low = lower(graph, platform)
    callbacks = [xla.Callback(f, outs) for f, outs in low.callbacks]
    exe = xla.compile(
        low.text,
        inputs=low.inputs,
        outputs=low.outputs,
        callbacks=callbacks,
        cache=False,
        options=xla.FAST_COMPILE if platform == "cpu" else None,
    )
    buffers = [xla.put(np.asarray(a)) for a in [*arrays, *low.hoisted]]
    return [np.asarray(xla.to_numpy(b)) for b in exe(buffers)]


def tolerance(dtype) -> float:
    """Relative and absolute tolerance of one operation in this dtype."""
    if dtype not in dt.INEXACT:
        return 0.0
    part = dt.real_of(dtype)
    return {2: 2e-2, 1: 2e-1}.get(part.itemsize, 2e-5 if part == dt.float32 else 1e-10)


def close(found, wanted, tol=None, what=""):
    """AssertionError unless equal in shape, dtype and (within tol) value; NaNs are equal."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{what}: shape {found.shape}, expected {wanted.shape}"
    assert found.dtype == wanted.dtype, f"{what}: dtype {found.dtype}, expected {wanted.dtype}"
    tol = tolerance(found.dtype) if tol is None else tol
    wide = np.complex128 if found.dtype in dt.COMPLEX else np.float64
    if found.dtype in dt.INEXACT:
        found, wanted = found.astype(wide), wanted.astype(wide)
    np.testing.assert_allclose(found, wanted, rtol=tol, atol=tol, err_msg=what)


def check(fun, *arrays, rules=ALL, tol=None, fd_tol=1e-5, diff=None, eps=1e-6, seed=0, order=2):
    """Check the rules of every primitive in fun at these arrays; see the module's docstring.

    `diff` lists the operands to differentiate (all inexact ones by default). Derivatives are only
    checked for float64 and complex128 operands: finite differences need the digits.
    """
    arrays = [np.asarray(a) for a in arrays]
    graph, rng = graph_of(fun, arrays), np.random.default_rng(seed)
    validate(cse(dce(graph)))
    if "lower" in rules:
        check_lowering(graph, arrays, tol)
    if "batch" in rules:
        check_batching(graph, arrays, rng, tol)
    wide = {dt.float64, dt.complex128}
    mask = tuple(a.dtype in wide and (diff is None or i in diff) for i, a in enumerate(arrays))
    if any(mask):
        check_derivatives(graph, arrays, mask, rng, rules, fd_tol, eps, order)


def check_lowering(graph, arrays, tol=None):
    """XLA's results against the reference's."""
    for i, (f, w) in enumerate(zip(compiled(graph, arrays), evaluate(graph, arrays), strict=True)):
        close(f, w, tol, f"lowering, output {i}")


def check_batching(graph, arrays, rng, tol=None, size=3):
    """The batched graph (reference and compiled) against a loop."""
    n = len(arrays)
    singles = [tuple(0 if i == j else None for i in range(n)) for j in range(n)] if n > 1 else []
    last = tuple(a.ndim for a in arrays)
    for dims in dict.fromkeys([(0,) * n, last, *singles]):
        if any(d is not None for d in dims):
            _check_batched(graph, arrays, dims, size, rng, tol)


def _check_batched(graph, arrays, dims, size, rng, tol):
    examples = [[vary(a, rng) for _ in range(size)] if d is not None else [a] * size for a, d in zip(arrays, dims)]
    stacked = [np.stack(e, d) if d is not None else a for a, d, e in zip(arrays, dims, examples)]
    batched, out_dims = batch(graph, Axis(size), dims)
    validate(batched)
    loops = [evaluate(graph, [e[k] for e in examples]) for k in range(size)]
    for run in (evaluate, compiled):
        for i, (found, d) in enumerate(zip(run(batched, stacked), out_dims, strict=True)):
            wanted = loops[0][i] if d is None else np.stack([out[i] for out in loops], d)
            close(found, wanted, tol, f"batch {dims} by {run.__name__}, output {i}")


def vary(a, rng):
    """Another array of the same kind: a permutation of the elements stays in the domain."""
    return rng.permutation(a.reshape(-1)).reshape(a.shape)


def random_like(a, rng):
    """A random direction: normal numbers of the aval's shape and dtype."""
    x = rng.standard_normal(a.shape)
    return (x + 1j * rng.standard_normal(a.shape) if a.dtype in dt.COMPLEX else x).astype(a.dtype)


def check_derivatives(graph, arrays, mask, rng, rules, fd_tol, eps, order=2):
    """jvp by finite differences, vjp by the dot-product test, second order by both."""
    tangents = [random_like(a, rng) for a, m in zip(arrays, mask) if m]
    dual, out_mask = jvp(graph, mask)
    validate(dual)
    outs = evaluate(dual, [*arrays, *tangents])[len(graph.outputs) :]
    if "jvp" in rules:
        moved = finite_difference(lambda xs: evaluate(graph, xs), arrays, mask, tangents, eps)
        for i, (d, wanted) in enumerate(zip(_spread(outs, out_mask, graph.out_avals), moved)):
            if graph.out_avals[i].dtype in dt.INEXACT:
                close(d, wanted.astype(d.dtype), fd_tol, f"jvp, output {i}")
    if "lower" in rules:
        check_lowering(dual, [*arrays, *tangents], 1e-9)
    if "transpose" in rules:
        _check_transpose(graph, arrays, mask, tangents, outs, rng, rules, fd_tol, eps, order)


def _spread(tangents, mask, avals):
    tangents = iter(tangents)
    return [next(tangents) if m else np.zeros(a.shape, a.dtype) for a, m in zip(avals, mask)]


def finite_difference(run, arrays, mask, tangents, eps):
    """(f(x + eps t) - f(x - eps t)) / 2 eps for each output."""

    def at(step):
        moving = iter(tangents)
        return run([a + step * next(moving) if m else a for a, m in zip(arrays, mask)])

    return [(np.asarray(p, _wide(p)) - np.asarray(m, _wide(m))) / (2 * eps) for p, m in zip(at(eps), at(-eps))]


def _wide(x):
    return np.complex128 if np.iscomplexobj(x) else np.float64


def _check_transpose(graph, arrays, mask, tangents, outs, rng, rules, fd_tol, eps, order):
    v = vjp(graph, mask)
    validate(v.forward), validate(v.backward)
    n = len(graph.outputs)
    first = evaluate(v.forward, arrays)
    for i, (f, w) in enumerate(zip(first[:n], evaluate(graph, arrays), strict=True)):
        close(f, w, 1e-12, f"vjp forward, output {i}")
    cts = [random_like(a, rng) for a, m in zip(graph.out_avals, v.out_mask) if m]
    grads = evaluate(v.backward, [*first[n:], *cts])
    left = sum(np.sum(c * t) for c, t in zip(cts, outs, strict=True))
    right = sum(np.sum(g * t) for g, t in zip(grads, tangents, strict=True))
    # <ct, J t> = <J^T ct, t> without conjugation; of a real function of complex values, real parts
    close(np.float64(np.real(left)), np.float64(np.real(right)), fd_tol, "transpose (dot-product test)")
    if "lower" in rules:
        check_lowering(v.backward, [*first[n:], *cts], 1e-9)
    if "second" in rules and order >= 2 and cts:
        _check_second(graph, v, arrays, mask, tangents, cts, fd_tol, eps)


def _check_second(graph, v, arrays, mask, tangents, cts, fd_tol, eps):
    n = len(graph.outputs)

    def gradient(*args):
        from functorch_core.core.trace import run

        return run(v.backward, [*run(v.forward, args[: len(arrays)])[n:], *args[len(arrays) :]])

    whole = trace_closed(gradient, [*graph.in_avals, *map(aval_of, cts)], "gradient")
    whole_mask = mask + (False,) * len(cts)
    dual, out_mask = jvp(whole, whole_mask)
    found = evaluate(dual, [*arrays, *cts, *tangents])[len(whole.outputs) :]
    wanted = finite_difference(lambda xs: evaluate(whole, xs), [*arrays, *cts], whole_mask, tangents, eps)
    for d, w in zip(_spread(found, out_mask, whole.out_avals), wanted):
        close(d, w.astype(d.dtype), fd_tol * 10, "second order")


def aval_grid(shapes, dtypes):
    """Avals of every shape and dtype."""
    return [aval(s, d) for s, d in itertools.product(shapes, dtypes)]
