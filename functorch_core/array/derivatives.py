"""grad and its kin: user functions of pytrees over the graph transforms."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..core import dtypes as dt
from ..core import tree
from ..core.aval import aval_of
from ..core.trace import run
from ..primitives import constant, zeros
from ..transforms.jvp import jvp as graph_jvp
from ..transforms.linearize import linearize as graph_linearize
from ..transforms.transpose import transpose as graph_transpose
from ..transforms.transpose import vjp as graph_vjp
from .array import Array, as_value, wrap
from .tracing import (
    TracedFunction, leaf_values, name_of, shown_tree, trace_function, wrapping)

NOT_SCALAR = """grad needs a function with a scalar result, `{name}` returned {out}.
    wrong: fc.grad(lambda x: x ** 2)(vector)    right: fc.grad(lambda x: (x ** 2).sum())(vector)
For the whole Jacobian: fc.jacrev or fc.jacfwd; for one cotangent: fc.vjp."""
NOT_REAL = """grad needs a real floating result, `{name}` returned {out}.
    For a holomorphic function: fc.grad(f, holomorphic=True); else take fc.real(...) or fc.abs(...)."""
NOT_DIFFERENTIABLE_ARG = """`{name}` cannot be differentiated by argument {position}: a leaf of it is {aval}.
    Derivatives exist by floating and complex arrays: x.astype(fc.float32),
    or choose other arguments with argnums=..."""
HOLOMORPHIC = """the Jacobian of `{name}` with holomorphic={holomorphic}: a leaf of argument
    {position} is {aval}. A complex derivative exists for holomorphic functions of complex
    arguments: holomorphic=True, and x.astype(fc.complex64) for real ones.
    Of others, differentiate by real and imaginary part."""
TREE_MISMATCH = """{what}: the structure of the {part} is {found}, that of the {of} {wanted}.
    They are equal, leaf by leaf: fc.tree.map(fc.zeros_like, ...) makes one of zeros."""
COTANGENT_MISMATCH = """the vjp of `{name}`: cotangent {index} is {found}, the result {wanted}.
    They have one shape and dtype: fc.ones_like(result), or cotangent.astype(...)."""
TANGENT_MISMATCH = """jvp of `{name}`: {what} {index} is {found}, the primal is {wanted}.
    Tangents have the structure, shapes and dtypes of the primals (None for integer ones)."""


def _argnums(argnums, n: int, name: str) -> tuple[int, ...]:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for i in chosen:
        if not -n <= i < n:
            raise ValueError(f"grad of `{name}`: argnums names argument {i}, "
                             f"the call has {n} positional arguments")
    return tuple(i % n for i in chosen)


class _Call:
    """A call split into the arguments to differentiate by, as flat values, and the rest."""

    def __init__(self, fun: Callable, args: Sequence, kwargs: dict, argnums, has_aux: bool,
                 at_point: bool = True):
        self.fun, self.args, self.kwargs = fun, args, kwargs
        self.name = name_of(fun)
        self.which = _argnums(argnums, len(args), self.name)
        self.single = isinstance(argnums, int)
        leaves, self.tree = tree.flatten(tuple(args[i] for i in self.which))
        self.values = leaf_values(leaves, "an argument", self.name)
        self.traced: TracedFunction = trace_function(
            self._partial(), self.tree, [v.aval for v in self.values], has_aux=has_aux,
            operands=self.values if at_point else None)

    def _partial(self) -> Callable:
        """The function of the chosen arguments alone, with the name of the user's."""
        def partial(*chosen):
            args = list(self.args)
            for i, x in zip(self.which, chosen, strict=True):
                args[i] = x
            return self.fun(*args, **self.kwargs)
        partial.__name__ = self.name
        return partial

    def check_inputs(self):
        """TypeError unless every leaf to differentiate by is floating or complex."""
        for i, subtree in zip(self.which, self.tree.children()):
            start = sum(t.num_leaves for t in self.tree.children()[:self.which.index(i)])
            for v in self.values[start:start + subtree.num_leaves]:
                if v.aval.dtype not in dt.INEXACT:
                    raise TypeError(NOT_DIFFERENTIABLE_ARG.format(
                        name=self.name, position=i, aval=v.aval))

    @property
    def operands(self) -> list:
        """What the traced graph takes."""
        return [*self.values, *self.traced.captures]

    @property
    def mask(self) -> tuple[bool, ...]:
        """Which operands are differentiated by."""
        return (True,) * len(self.values) + (False,) * len(self.traced.captures)

    def split_outputs(self, outs: Sequence):
        """(the result as a tree, aux as a tree or None) from the graph's outputs."""
        if self.traced.aux is None:
            return self.traced.out_tree.unflatten([wrap(v) for v in outs]), None
        aux_tree, n = self.traced.aux
        return (self.traced.out_tree.unflatten([wrap(v) for v in outs[:n]]),
                aux_tree.unflatten([wrap(v) for v in outs[n:]]))


def value_and_grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
                   holomorphic: bool = False) -> Callable:
    """A function that returns (fun(*args), gradient by the arguments in `argnums`).

    fun returns a real scalar (or (scalar, aux) with `has_aux`). The gradient has the structure of
    the argument, a tuple of them if `argnums` is a sequence. TypeError if the result is not a
    real floating scalar or an argument is not floating.

    >>> import functorch_core as fc
    >>> fc.value_and_grad(lambda x: (x ** 2).sum())(fc.asarray([1., 2.]))
    (Array(5., dtype=float32), Array([2., 4.], dtype=float32))
    """
    @wrapping(fun)
    def wrapped(*args, **kwargs):
        call = _Call(fun, args, kwargs, argnums, has_aux)
        call.check_inputs()
        _check_scalar(call, holomorphic)
        v = graph_vjp(call.traced.graph, call.mask)
        outs = run(v.forward, call.operands)
        n = len(call.traced.graph.outputs)
        if v.out_mask[0]:
            one = constant(np.ones((), outs[0].aval.dtype))
            others = [zeros(a) for a, m in zip(call.traced.graph.out_avals[1:], v.out_mask[1:]) if m]
            grads = run(v.backward, [*outs[n:], one, *others])
        else:
            grads = [zeros(x.aval) for x in call.values]
        value, aux = call.split_outputs(outs[:n])
        grads = call.tree.unflatten([wrap(g) for g in grads])
        return (value, aux) if has_aux else value, grads[0] if call.single else grads
    return wrapped


def _check_scalar(call: _Call, holomorphic: bool):
    n = call.traced.out_tree.num_leaves
    avals = call.traced.graph.out_avals[:n]
    if n != 1 or avals[0].shape != ():
        shown = avals[0] if n == 1 else f"{n} arrays"
        raise TypeError(NOT_SCALAR.format(name=call.name, out=shown))
    if avals[0].dtype not in (dt.COMPLEX if holomorphic else dt.FLOATING):
        raise TypeError(NOT_REAL.format(name=call.name, out=avals[0]))


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
         holomorphic: bool = False) -> Callable:
    """A function that returns the gradient of fun; see value_and_grad.

    With `has_aux`, fun returns (scalar, aux) and the result is (gradient, aux).

    >>> import functorch_core as fc
    >>> fc.grad(fc.sin)(fc.asarray(0.))
    Array(1., dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic)

    @wrapping(fun)
    def wrapped(*args, **kwargs):
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads
    return wrapped


# ---- forward mode ------------------------------------------------------------------------------------


def jvp(fun: Callable, primals: Sequence, tangents: Sequence, has_aux: bool = False):
    """(fun(*primals), its directional derivative along tangents), and aux with `has_aux`.

    primals and tangents are tuples of pytrees of one structure, with equal shapes and dtypes.

    >>> import functorch_core as fc
    >>> fc.jvp(lambda x: x * x, (fc.asarray(3.),), (fc.asarray(1.),))
    (Array(9., dtype=float32), Array(6., dtype=float32))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes tuples: fc.jvp(f, (x,), (t,)), got "
                        f"{type(primals).__name__} and {type(tangents).__name__}")
    call = _Call(fun, tuple(primals), {}, tuple(range(len(primals))), has_aux)
    dots = _tangent_values(call, tuple(tangents))
    mask = tuple(t is not None for t in dots) + (False,) * len(call.traced.captures)
    dual, out_mask = graph_jvp(call.traced.graph, mask)
    outs = run(dual, [*call.operands, *(t for t in dots if t is not None)])
    n = len(out_mask)
    value, aux = call.split_outputs(outs[:n])
    moved, _ = call.split_outputs(_spread(outs[n:], out_mask, call.traced.graph.out_avals))
    return (value, moved, aux) if has_aux else (value, moved)


def _spread(tangents: Sequence, mask: Sequence[bool], avals: Sequence) -> list:
    tangents = iter(tangents)
    return [next(tangents) if m else zeros(a) for a, m in zip(avals, mask)]


INTEGER_TANGENT = """jvp of `{name}`: tangent {index} is {tangent}, the primal is {aval}.
    Derivatives exist by floating and complex arrays alone; the tangent of an integer is None or 0.
    wrong: fc.jvp(f, (2,), (1,))        right: fc.jvp(f, (2.,), (1.,))"""


def _tangent_values(call: _Call, tangents: tuple) -> list:
    leaves, treedef = tree.flatten(tangents, lambda x: x is None)
    _, wanted = tree.flatten(call.tree.unflatten([0] * len(call.values)))
    if treedef != wanted:
        raise TypeError(TREE_MISMATCH.format(
            what=f"jvp of `{call.name}`", part="tangents", of="primals",
            found=shown_tree(treedef), wanted=shown_tree(wanted)))
    return [_tangent(call.name, i, x, v.aval) for i, (x, v) in enumerate(zip(leaves, call.values))]


def _tangent(name: str, index: int, x, primal):
    if x is None:
        return None
    if primal.dtype not in dt.INEXACT:
        if isinstance(x, (int, float, complex)) and x != 0:
            raise TypeError(INTEGER_TANGENT.format(name=name, index=index, tangent=x, aval=primal))
        return None
    if isinstance(x, (int, float, complex)):
        return as_value(np.asarray(x, primal.dtype))
    value = as_value(x)
    if value.aval is not primal:
        raise TypeError(TANGENT_MISMATCH.format(name=name, what="tangent", index=index,
                                                found=value.aval, wanted=primal))
    return value


def linearize(fun: Callable, *primals, has_aux: bool = False):
    """(fun(*primals), f_lin): f_lin(*tangents) is the derivative at primals, computed many times
    without evaluating fun again.

    >>> import functorch_core as fc
    >>> y, f_lin = fc.linearize(fc.sin, fc.asarray(0.))
    >>> f_lin(fc.asarray(2.))
    Array(2., dtype=float32)
    """
    call = _Call(fun, primals, {}, tuple(range(len(primals))), has_aux)
    mask = tuple(v.aval.dtype in dt.INEXACT for v in call.values)
    lin = graph_linearize(call.traced.graph, mask + (False,) * len(call.traced.captures))
    outs = run(lin.forward, call.operands)
    n = len(call.traced.graph.outputs)
    residuals = outs[n:]

    def f_lin(*tangents):
        dots = _tangent_values(call, tangents)
        dots = [zeros(v.aval) if t is None else t
                for t, v, m in zip(dots, call.values, mask) if m]
        moved = run(lin.linear, [*residuals, *dots])
        return call.split_outputs(_spread(moved, lin.out_mask, call.traced.graph.out_avals))[0]

    value, aux = call.split_outputs(outs[:n])
    return (value, f_lin, aux) if has_aux else (value, f_lin)


# ---- reverse mode ------------------------------------------------------------------------------------


def vjp(fun: Callable, *primals, has_aux: bool = False):
    """(fun(*primals), vjp_fun): vjp_fun(cotangent) is a tuple of cotangents, one a primal.

    The cotangent has the structure of the result. Integer primals get None.

    >>> import functorch_core as fc
    >>> y, vjp_fun = fc.vjp(fc.sin, fc.asarray(0.))
    >>> vjp_fun(fc.asarray(3.))
    (Array(3., dtype=float32),)
    """
    call = _Call(fun, primals, {}, tuple(range(len(primals))), has_aux)
    mask = tuple(v.aval.dtype in dt.INEXACT for v in call.values)
    v = graph_vjp(call.traced.graph, mask + (False,) * len(call.traced.captures))
    outs = run(v.forward, call.operands)
    n, n_out = len(call.traced.graph.outputs), call.traced.out_tree.num_leaves
    residuals, avals = outs[n:], call.traced.graph.out_avals

    def vjp_fun(cotangent):
        cts = _cotangents(call, cotangent, avals[:n_out])
        cts += [zeros(a) for a in avals[n_out:]]
        grads = iter(run(v.backward, [*residuals, *(c for c, m in zip(cts, v.out_mask) if m)]))
        return call.tree.unflatten([wrap(next(grads)) if m else None for m in mask])

    value, aux = call.split_outputs(outs[:n])
    return (value, vjp_fun, aux) if has_aux else (value, vjp_fun)


def _cotangents(call: _Call, cotangent, avals) -> list:
    leaves, treedef = tree.flatten(cotangent)
    if treedef != call.traced.out_tree:
        raise TypeError(TREE_MISMATCH.format(
            what=f"the vjp of `{call.name}`", part="cotangent", of="result",
            found=shown_tree(treedef), wanted=shown_tree(call.traced.out_tree)))
    values = [as_value(np.asarray(x, a.dtype)) if isinstance(x, (int, float, complex))
              else as_value(x) for x, a in zip(leaves, avals)]
    for i, (value, wanted) in enumerate(zip(values, avals)):
        if value.aval is not wanted:
            raise TypeError(COTANGENT_MISMATCH.format(name=call.name, index=i, wanted=wanted,
                                                      found=value.aval))
    return values


def linear_transpose(fun: Callable, *primals) -> Callable:
    """The transpose of a function linear in all its arguments; primals give shapes and dtypes.

    >>> import functorch_core as fc
    >>> fc.linear_transpose(lambda x: 3 * x, fc.asarray(0.))(fc.asarray(2.))
    (Array(6., dtype=float32),)
    """
    call = _Call(fun, primals, {}, tuple(range(len(primals))), False, at_point=False)
    n, captures = len(call.values), call.traced.captures
    given = (True,) * len(call.traced.graph.outputs)
    graph, mask = graph_transpose(call.traced.graph, (True,) * n + (False,) * len(captures), given)

    def transposed(cotangent):
        cts = _cotangents(call, cotangent, call.traced.graph.out_avals)
        outs = iter(run(graph, [*captures, *cts]))
        return call.tree.unflatten([wrap(next(outs) if m else zeros(v.aval))
                                    for v, m in zip(call.values, mask)])
    return transposed


# ---- Jacobians ---------------------------------------------------------------------------------------


def _basis(avals) -> list[list[Array]]:
    """For each leaf, the batch of standard basis vectors of all leaves together."""
    total, start, out = sum(a.size for a in avals), 0, []
    for a in avals:
        eye = np.zeros((total, a.size), a.dtype)
        eye[start:start + a.size] = np.eye(a.size, dtype=a.dtype)
        out.append(wrap(as_value(eye.reshape(total, *a.shape))))
        start += a.size
    return out


def _split(x: Array, axis: int, avals) -> list[Array]:
    """Undo the stacking of basis vectors along `axis`: one piece a leaf, in the leaf's shape."""
    from ..primitives import reshape, slice_in_dim
    pieces, start, shape = [], 0, x.shape
    for a in avals:
        piece = slice_in_dim(x._value, start=start, limit=start + a.size, dimension=axis)
        pieces.append(wrap(reshape(piece, shape=shape[:axis] + a.shape + shape[axis + 1:])))
        start += a.size
    return pieces


def jacfwd(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable:
    """The Jacobian by forward mode (one pass a column: good for few inputs).

    The result has, for each leaf of fun's result, a tree like the argument, of arrays of shape
    (*result shape, *argument shape). Derivatives by complex arguments need `holomorphic=True`.

    >>> import functorch_core as fc
    >>> fc.jacfwd(lambda x: x ** 2)(fc.asarray([1., 2.]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    from .vmap import vmap

    @wrapping(fun)
    def wrapped(*args, **kwargs):
        which, single, chosen, partial = _choose(fun, args, kwargs, argnums, holomorphic)
        value, f_lin, *aux = linearize(partial, *chosen, has_aux=has_aux)
        leaves, treedef = tree.flatten(chosen)
        avals = [as_value(x).aval for x in leaves]
        columns = vmap(lambda *t: f_lin(*treedef.unflatten(t)), out_axes=-1)(*_basis(avals))

        def per_output(y):
            jac = treedef.unflatten(_split(y, y.ndim - 1, avals))
            return jac[0] if single else jac
        out = tree.map(per_output, columns)
        return (out, *aux) if has_aux else out
    return wrapped


def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable:
    """The Jacobian by reverse mode (one pass a row: good for few outputs); see jacfwd.

    >>> import functorch_core as fc
    >>> fc.jacrev(lambda x: x.sum())(fc.asarray([1., 2.]))
    Array([1., 1.], dtype=float32)
    """
    from .vmap import vmap

    @wrapping(fun)
    def wrapped(*args, **kwargs):
        which, single, chosen, partial = _choose(fun, args, kwargs, argnums, holomorphic)
        value, vjp_fun, *aux = vjp(partial, *chosen, has_aux=has_aux)
        outs, out_tree = tree.flatten(value)
        avals = [aval_of(y._value) for y in outs]
        rows = vmap(lambda *c: vjp_fun(out_tree.unflatten(c)))(*_basis(avals))
        leaves, treedef = tree.flatten(rows)
        pieces = [_split(x, 0, avals) for x in leaves]

        def per_output(i):
            jac = treedef.unflatten([p[i] for p in pieces])
            return jac[0] if single else jac
        out = out_tree.unflatten([per_output(i) for i in range(len(outs))])
        return (out, *aux) if has_aux else out
    return wrapped


def _choose(fun, args, kwargs, argnums, holomorphic):
    name = name_of(fun)
    which = _argnums(argnums, len(args), name)
    for i in which:
        for v in leaf_values(tree.leaves(args[i]), "an argument", name):
            if v.aval.dtype not in dt.INEXACT:
                raise TypeError(NOT_DIFFERENTIABLE_ARG.format(name=name, position=i, aval=v.aval))
            if (v.aval.dtype in dt.COMPLEX) != holomorphic:
                raise TypeError(HOLOMORPHIC.format(name=name, position=i, aval=v.aval,
                                                   holomorphic=holomorphic))

    @wrapping(fun)
    def partial(*chosen):
        full = list(args)
        for i, x in zip(which, chosen, strict=True):
            full[i] = x
        return fun(*full, **kwargs)
    return which, isinstance(argnums, int), tuple(args[i] for i in which), partial


def hessian(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable:
    """The matrix of second derivatives, forward over reverse; `holomorphic` as in jacfwd.

    >>> import functorch_core as fc
    >>> fc.hessian(lambda x: (x ** 3).sum())(fc.asarray([1., 2.]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def stop_gradient(x):
    """x, as a constant to every derivative; works on pytrees.

    >>> import functorch_core as fc
    >>> fc.grad(lambda x: x * fc.stop_gradient(x))(fc.asarray(3.))
    Array(3., dtype=float32)
    """
    from ..transforms.custom import stop_gradient as stop
    return tree.map(lambda leaf: wrap(stop(as_value(leaf))), x)


__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "linear_transpose",
           "linearize", "stop_gradient", "value_and_grad", "vjp"]
