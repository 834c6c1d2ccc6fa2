"""grad and its kin: user functions of pytrees over the graph transforms."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

import numpy as np

from ..core import dtypes as dt
from ..core import tree
from ..core.aval import aval, aval_of
from ..core.explain import as_called, explaining, result_of
from ..core.trace import run
from ..engine import absent
from ..primitives import constant, reshape, slice_in_dim, zeros
from ..transforms.custom import stop_gradient as stop
from ..transforms.jvp import jvp as graph_jvp
from ..transforms.linearize import linearize as graph_linearize
from ..transforms.transpose import transpose as graph_transpose
from ..transforms.transpose import vjp as graph_vjp
from .array import Array, as_value, wrap
from .tracing import ShapeDtype, TracedFunction, leaf_values, name_of, shown_tree, trace_function, wrapping
from .vmap import vmap

NOT_SCALAR = """grad needs a function with a scalar result, `{name}` returned {out}.
    wrong: fc.grad(lambda x: x ** 2)(vector)    right: fc.grad(lambda x: (x ** 2).sum())(vector)
For the whole Jacobian: fc.jacrev or fc.jacfwd; for one cotangent: fc.vjp."""
NOT_REAL = """grad needs a real floating result, `{name}` returned {out}.
    For a holomorphic function: fc.grad(f, holomorphic=True); else take fc.real(...) or fc.abs(...)."""
NOT_DIFFERENTIABLE_ARG = """`{name}` cannot be differentiated by argument {position}: a leaf of it is {aval}.
    Derivatives exist by floating and complex arrays: x.astype(fc.float32),
    or choose other arguments with argnums=... (allow_int=True gives zeros for integers)."""
HOLOMORPHIC_ARG = """grad of `{name}` with holomorphic=True: a leaf of argument {position} is {aval}.
    A complex derivative exists by complex arrays: x.astype(fc.complex64)."""
ARGNUMS = """the derivative of `{name}`: argnums={argnums!r} does not name arguments of this call.
    It is the number of a positional argument, or several different ones; the call has {n}, which
    count from 0. What comes by keyword cannot be differentiated by."""
REDUCE_AXES = """reduce_axes={axes!r} has no meaning here, as in JAX, which keeps the name alone.
    Sum over a mapped axis inside the function: fc.psum(x, axis_name)."""
HOLOMORPHIC = """the Jacobian of `{name}` with holomorphic={holomorphic}: a leaf of {place} is {aval}.
    A complex derivative exists for holomorphic functions of complex arguments with complex results:
    holomorphic=True, and x.astype(fc.complex64) for real ones.
    Of others, differentiate by real and imaginary part."""
TREE_MISMATCH = """{what}: the structure of the {part} is {found}, that of the {of} {wanted}.
    They are equal, leaf by leaf: fc.tree.map(fc.zeros_like, ...) makes one of zeros."""
COTANGENT_MISMATCH = """the vjp of `{name}`: cotangent {index} is {found}, the result {wanted}.
    They have one shape and dtype: fc.ones_like(result), or cotangent.astype(...)."""
TANGENT_MISMATCH = """jvp of `{name}`: {what} {index} is {found}, the primal is {wanted}.
    Tangents have the structure, shapes and dtypes of the primals (None for integer ones)."""


def _argnums(argnums, n: int, name: str) -> tuple[int, ...]:
    """The positions that argnums names; ValueError where the call has no such argument."""
    try:
        chosen = [operator.index(i) for i in ((argnums,) if is_single(argnums) else argnums)]
    except TypeError:
        raise TypeError(ARGNUMS.format(name=name, argnums=argnums, n=n)) from None
    if not all(-n <= i < n for i in chosen) or len({i % n for i in chosen}) != len(chosen):
        raise ValueError(ARGNUMS.format(name=name, argnums=argnums, n=n))
    return tuple(i % n for i in chosen)


def is_single(argnums) -> bool:
    """Whether argnums is one number, so that the gradient is no tuple."""
    return hasattr(argnums, "__index__")


def _standing_in(leaves: Sequence) -> list:
    """Values without data for what has but a shape and a dtype."""
    return [wrap(absent(aval(x.shape, x.dtype))) if isinstance(x, ShapeDtype) else x for x in leaves]


class _Call:
    """A call split into the arguments to differentiate by, as flat values, and the rest."""

    def __init__(self, fun: Callable, args: Sequence, kwargs: dict, argnums, has_aux: bool, at_point: bool = True):
        self.fun, self.args, self.kwargs = fun, args, kwargs
        self.name = name_of(fun)
        self.which = _argnums(argnums, len(args), self.name)
        self.single = is_single(argnums)
        leaves, self.tree = tree.flatten(tuple(args[i] for i in self.which))
        self.values = leaf_values(leaves if at_point else _standing_in(leaves), "an argument", self.name)
        self.traced: TracedFunction = trace_function(
            self._partial(),
            self.tree,
            [v.aval for v in self.values],
            has_aux=has_aux,
            operands=self.values if at_point else None,
        )
        self.inexact = [v.aval.dtype in dt.INEXACT for v in self.values]

    def _partial(self) -> Callable:
        """The function of the chosen arguments alone, with the name of the user's."""

        def partial(*chosen):
            args = list(self.args)
            for i, x in zip(self.which, chosen, strict=True):
                args[i] = x
            return self.fun(*args, **self.kwargs)

        partial.__name__ = self.name
        return partial

    def check_inputs(self, holomorphic: bool, allow_int: bool):
        """TypeError unless every leaf to differentiate by is of a fitting dtype."""
        positions = [i for i, subtree in zip(self.which, self.tree.children()) for _ in range(subtree.num_leaves)]
        for i, v in zip(positions, self.values):
            check_argument(self.name, i, v.aval, holomorphic, allow_int)

    @property
    def operands(self) -> list:
        """What the traced graph takes."""
        return [*self.values, *self.traced.captures]

    @property
    def mask(self) -> tuple[bool, ...]:
        """Which operands are differentiated by."""
        return (*self.inexact, *(False,) * len(self.traced.captures))

    def spread(self, found: Sequence) -> list:
        """Gradients by the inexact leaves, with zeros for the integers between them."""
        found = iter(found)
        return [
            next(found) if m else zeros(v.aval.with_dtype(dt.DEFAULT_FLOAT)) for v, m in zip(self.values, self.inexact)
        ]

    def split_outputs(self, outs: Sequence):
        """(the result as a tree, aux as a tree or None) from the graph's outputs."""
        if self.traced.aux is None:
            return self.traced.out_tree.unflatten([wrap(v) for v in outs]), None
        aux_tree, n = self.traced.aux
        return (
            self.traced.out_tree.unflatten([wrap(v) for v in outs[:n]]),
            aux_tree.unflatten([wrap(v) for v in outs[n:]]),
        )


def check_argument(name: str, position: int, aval, holomorphic: bool, allow_int: bool):
    """TypeError unless there is a derivative by an argument of this dtype."""
    if aval.dtype not in dt.INEXACT:
        if not allow_int:
            raise TypeError(NOT_DIFFERENTIABLE_ARG.format(name=name, position=position, aval=aval))
    elif holomorphic and aval.dtype not in dt.COMPLEX:
        raise TypeError(HOLOMORPHIC_ARG.format(name=name, position=position, aval=aval))


def _no_axes(reduce_axes):
    if reduce_axes:
        raise NotImplementedError(REDUCE_AXES.format(axes=reduce_axes))


@explaining
def value_and_grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence = (),
) -> Callable:
    """A function that returns (fun(*args), gradient by the arguments in `argnums`).

    fun returns a real scalar (or (scalar, aux) with `has_aux`). The gradient has the structure of
    the argument, a tuple of them if `argnums` is a sequence. TypeError if the result is not a
    real floating scalar or an argument is not floating. With `allow_int`, the gradient by integer
    and bool arguments is zeros (float32; JAX has its dtype float0 there). `holomorphic`: fun is a
    holomorphic function of complex arguments. `reduce_axes` is empty, as in JAX.

    >>> import functorch_core as fc
    >>> fc.value_and_grad(lambda x: (x ** 2).sum())(fc.asarray([1., 2.]))
    (Array(5., dtype=float32), Array([2., 4.], dtype=float32))
    """
    _no_axes(reduce_axes)
    both = _value_and_gradient(fun, argnums, has_aux, holomorphic, allow_int)
    return result_of(
        value_and_grad, fun, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int
    )(both)


def _value_and_gradient(fun, argnums, has_aux, holomorphic, allow_int) -> Callable:
    """What value_and_grad returns, for grad, which explains errors itself."""

    def both(*args, **kwargs):
        call = _Call(fun, args, kwargs, argnums, has_aux)
        call.check_inputs(holomorphic, allow_int)
        _check_scalar(call, holomorphic)
        v = graph_vjp(call.traced.graph, call.mask)
        outs = run(v.forward, call.operands)
        n = len(call.traced.graph.outputs)
        if v.out_mask[0]:
            one = constant(np.ones((), outs[0].aval.dtype))
            others = [zeros(a) for a, m in zip(call.traced.graph.out_avals[1:], v.out_mask[1:]) if m]
            found = run(v.backward, [*outs[n:], one, *others])
        else:
            found = [zeros(x.aval) for x, m in zip(call.values, call.inexact) if m]
        value, aux = call.split_outputs(outs[:n])
        grads = call.tree.unflatten([wrap(g) for g in call.spread(found)])
        return (value, aux) if has_aux else value, grads[0] if call.single else grads

    return both


def _check_scalar(call: _Call, holomorphic: bool):
    n = call.traced.out_tree.num_leaves
    avals = call.traced.graph.out_avals[:n]
    bare = tree.alike(call.traced.out_tree, tree.structure(0))
    if not bare or avals[0].shape != ():
        shown = avals[0] if bare else f"{n} arrays" if n != 1 else (f"{avals[0]} in {shown_tree(call.traced.out_tree)}")
        raise TypeError(NOT_SCALAR.format(name=call.name, out=shown))
    if avals[0].dtype not in (dt.COMPLEX if holomorphic else dt.FLOATING):
        raise TypeError(NOT_REAL.format(name=call.name, out=avals[0]))


@explaining
def grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence = (),
) -> Callable:
    """A function that returns the gradient of fun; see value_and_grad.

    With `has_aux`, fun returns (scalar, aux) and the result is (gradient, aux).

    >>> import functorch_core as fc
    >>> fc.grad(fc.sin)(fc.asarray(0.))
    Array(1., dtype=float32)
    """
    _no_axes(reduce_axes)
    both = _value_and_gradient(fun, argnums, has_aux, holomorphic, allow_int)

    @result_of(grad, fun, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)
    def wrapped(*args, **kwargs):
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapped


# ---- forward mode ------------------------------------------------------------------------------------


@explaining
def jvp(fun: Callable, primals: Sequence, tangents: Sequence, has_aux: bool = False):
    """(fun(*primals), its directional derivative along tangents), and aux with `has_aux`.

    primals and tangents are tuples of pytrees of one structure, with equal shapes and dtypes.

    >>> import functorch_core as fc
    >>> fc.jvp(lambda x: x * x, (fc.asarray(3.),), (fc.asarray(1.),))
    (Array(9., dtype=float32), Array(6., dtype=float32))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            f"jvp takes tuples: fc.jvp(f, (x,), (t,)), got {type(primals).__name__} and {type(tangents).__name__}"
        )
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
    wanted = call.tree
    if not tree.alike(treedef, wanted):
        raise TypeError(
            TREE_MISMATCH.format(
                what=f"jvp of `{call.name}`",
                part="tangents",
                of="primals",
                found=shown_tree(treedef),
                wanted=shown_tree(wanted),
            )
        )
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
        raise TypeError(
            TANGENT_MISMATCH.format(name=name, what="tangent", index=index, found=value.aval, wanted=primal)
        )
    return value


@explaining
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

    @explaining_inner("fc.linearize({name}, ...)[1]", call.name)
    def f_lin(*tangents):
        dots = _tangent_values(call, tangents)
        dots = [zeros(v.aval) if t is None else t for t, v, m in zip(dots, call.values, mask) if m]
        moved = run(lin.linear, [*residuals, *dots])
        return call.split_outputs(_spread(moved, lin.out_mask, call.traced.graph.out_avals))[0]

    value, aux = call.split_outputs(outs[:n])
    return (value, f_lin, aux) if has_aux else (value, f_lin)


# ---- reverse mode ------------------------------------------------------------------------------------


@explaining
def vjp(fun: Callable, *primals, has_aux: bool = False, reduce_axes: Sequence = ()):
    """(fun(*primals), vjp_fun): vjp_fun(cotangent) is a tuple of cotangents, one a primal.

    The cotangent has the structure of the result. Integer primals get None.

    >>> import functorch_core as fc
    >>> y, vjp_fun = fc.vjp(fc.sin, fc.asarray(0.))
    >>> vjp_fun(fc.asarray(3.))
    (Array(3., dtype=float32),)
    """
    _no_axes(reduce_axes)
    call = _Call(fun, primals, {}, tuple(range(len(primals))), has_aux)
    mask = tuple(v.aval.dtype in dt.INEXACT for v in call.values)
    v = graph_vjp(call.traced.graph, mask + (False,) * len(call.traced.captures))
    outs = run(v.forward, call.operands)
    n, n_out = len(call.traced.graph.outputs), call.traced.out_tree.num_leaves
    residuals, avals = outs[n:], call.traced.graph.out_avals

    @explaining_inner("fc.vjp({name}, ...)[1]", call.name)
    def vjp_fun(cotangent):
        return backward(residuals, cotangent)

    def backward(residuals, cotangent):
        cts = _cotangents(call, cotangent, avals[:n_out])
        cts += [zeros(a) for a in avals[n_out:]]
        grads = iter(run(v.backward, [*residuals, *(c for c, m in zip(cts, v.out_mask) if m)]))
        return call.tree.unflatten([wrap(next(grads)) if m else None for m in mask])

    vjp_fun.residuals, vjp_fun.backward = residuals, backward
    value, aux = call.split_outputs(outs[:n])
    return (value, vjp_fun, aux) if has_aux else (value, vjp_fun)


def explaining_inner(how: str, name: str) -> Callable:
    """A decorator of a function that a transform returned beside a value."""
    return functools.partial(explaining, name=how.format(name=name), write=as_called)


def _cotangents(call: _Call, cotangent, avals) -> list:
    leaves, treedef = tree.flatten(cotangent)
    if not tree.alike(treedef, call.traced.out_tree):
        raise TypeError(
            TREE_MISMATCH.format(
                what=f"the vjp of `{call.name}`",
                part="cotangent",
                of="result",
                found=shown_tree(treedef),
                wanted=shown_tree(call.traced.out_tree),
            )
        )
    values = [
        as_value(np.asarray(x, a.dtype)) if isinstance(x, (int, float, complex)) else as_value(x)
        for x, a in zip(leaves, avals)
    ]
    for i, (value, wanted) in enumerate(zip(values, avals)):
        if value.aval is not wanted:
            raise TypeError(COTANGENT_MISMATCH.format(name=call.name, index=i, wanted=wanted, found=value.aval))
    return values


@explaining
def linear_transpose(fun: Callable, *primals, reduce_axes: Sequence = ()) -> Callable:
    """The transpose of a function linear in all its arguments; primals give shapes and dtypes.

    >>> import functorch_core as fc
    >>> fc.linear_transpose(lambda x: 3 * x, fc.asarray(0.))(fc.asarray(2.))
    (Array(6., dtype=float32),)
    """
    _no_axes(reduce_axes)
    call = _Call(fun, primals, {}, tuple(range(len(primals))), False, at_point=False)
    n, captures = len(call.values), call.traced.captures
    given = (True,) * len(call.traced.graph.outputs)
    graph, mask = graph_transpose(call.traced.graph, (True,) * n + (False,) * len(captures), given)

    @explaining_inner("fc.linear_transpose({name}, ...)", call.name)
    def transposed(cotangent):
        cts = _cotangents(call, cotangent, call.traced.graph.out_avals)
        outs = iter(run(graph, [*captures, *cts]))
        return call.tree.unflatten([wrap(next(outs) if m else zeros(v.aval)) for v, m in zip(call.values, mask)])

    return transposed


# ---- Jacobians ---------------------------------------------------------------------------------------


def _basis(avals) -> list[list[Array]]:
    """For each leaf, the batch of standard basis vectors of all leaves together."""
    total, start, out = sum(a.size for a in avals), 0, []
    for a in avals:
        eye = np.zeros((total, a.size), a.dtype)
        eye[start : start + a.size] = np.eye(a.size, dtype=a.dtype)
        out.append(wrap(as_value(eye.reshape(total, *a.shape))))
        start += a.size
    return out


def _split(x: Array, axis: int, avals) -> list[Array]:
    """Undo the stacking of basis vectors along `axis`: one piece a leaf, in the leaf's shape."""
    pieces, start, shape = [], 0, x.shape
    for a in avals:
        piece = slice_in_dim(x._value, start=start, limit=start + a.size, dimension=axis)
        pieces.append(wrap(reshape(piece, shape=shape[:axis] + a.shape + shape[axis + 1 :])))
        start += a.size
    return pieces


def _no_rows(avals, wanted) -> Array:
    """The rows of a Jacobian by an integer leaf: zeros."""
    total = sum(a.size for a in avals)
    return wrap(zeros(aval((total, *wanted.shape), dt.DEFAULT_FLOAT)))


@explaining
def jacfwd(
    fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable:
    """The Jacobian by forward mode (one pass a column: good for few inputs).

    The result has, for each leaf of fun's result, a tree like the argument, of arrays of shape
    (*result shape, *argument shape). Derivatives by complex arguments need `holomorphic=True`.

    >>> import functorch_core as fc
    >>> fc.jacfwd(lambda x: x ** 2)(fc.asarray([1., 2.]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """

    @result_of(jacfwd, fun, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic)
    def wrapped(*args, **kwargs):
        which, chosen, partial = _choose(fun, args, kwargs, argnums)
        _check_jacobian(fun, which, chosen, holomorphic)
        value, f_lin, *aux = linearize(partial, *chosen, has_aux=has_aux)
        leaves, treedef = tree.flatten(chosen)
        avals = [as_value(x).aval for x in leaves]
        columns = vmap(lambda *t: f_lin(*treedef.unflatten(t)), out_axes=-1)(*_basis(avals))

        def per_output(y):
            jac = treedef.unflatten(_split(y, y.ndim - 1, avals))
            return jac[0] if is_single(argnums) else jac

        out = tree.map(per_output, columns)
        return (out, *aux) if has_aux else out

    return wrapped


@explaining
def jacrev(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable:
    """The Jacobian by reverse mode (one pass a row: good for few outputs); see jacfwd.

    With `allow_int`, that by integer and bool arguments is zeros, float32.

    >>> import functorch_core as fc
    >>> fc.jacrev(lambda x: x.sum())(fc.asarray([1., 2.]))
    Array([1., 1.], dtype=float32)
    """

    @result_of(jacrev, fun, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)
    def wrapped(*args, **kwargs):
        which, chosen, partial = _choose(fun, args, kwargs, argnums)
        leaves, in_tree = tree.flatten(chosen)
        values = leaf_values(leaves, "an argument", name_of(fun))
        for i, x in zip(which, chosen):
            for v in leaf_values(tree.leaves(x), "an argument", name_of(fun)):
                check_argument(name_of(fun), i, v.aval, holomorphic, allow_int)
        value, vjp_fun, *aux = vjp(partial, *chosen, has_aux=has_aux)
        outs, out_tree = tree.flatten(value)
        avals = [aval_of(y._value) for y in outs]
        _check_results(fun, avals, holomorphic)
        rows = vmap(lambda *c: vjp_fun(out_tree.unflatten(c)))(*_basis(avals))
        rows = iter(tree.leaves(rows))  # None by integers is no leaf
        pieces = [
            _split(next(rows) if v.aval.dtype in dt.INEXACT else _no_rows(avals, v.aval), 0, avals) for v in values
        ]

        def per_output(i):
            jac = in_tree.unflatten([p[i] for p in pieces])
            return jac[0] if is_single(argnums) else jac

        out = out_tree.unflatten([per_output(i) for i in range(len(outs))])
        return (out, *aux) if has_aux else out

    return wrapped


def _choose(fun, args, kwargs, argnums):
    """(numbers and values of the arguments to differentiate by, fun of them alone)."""
    name = name_of(fun)
    which = _argnums(argnums, len(args), name)

    @wrapping(fun)
    def partial(*chosen):
        full = list(args)
        for i, x in zip(which, chosen, strict=True):
            full[i] = x
        return fun(*full, **kwargs)

    return which, tuple(args[i] for i in which), partial


def _check_jacobian(fun, which, chosen, holomorphic: bool):
    """TypeError unless forward mode has a derivative by each leaf: a complex one if holomorphic."""
    name = name_of(fun)
    for i, x in zip(which, chosen):
        for v in leaf_values(tree.leaves(x), "an argument", name):
            check_argument(name, i, v.aval, False, False)
            if (v.aval.dtype in dt.COMPLEX) != holomorphic:
                raise TypeError(
                    HOLOMORPHIC.format(name=name, place=f"argument {i}", aval=v.aval, holomorphic=holomorphic)
                )


def _check_results(fun, avals, holomorphic: bool):
    """TypeError unless reverse mode has a derivative of each leaf of the result."""
    for a in avals:
        if a.dtype not in (dt.COMPLEX if holomorphic else dt.FLOATING):
            raise TypeError(HOLOMORPHIC.format(name=name_of(fun), place="the result", aval=a, holomorphic=holomorphic))


@explaining
def hessian(
    fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable:
    """The matrix of second derivatives, forward over reverse; `holomorphic` as in jacfwd.

    >>> import functorch_core as fc
    >>> fc.hessian(lambda x: (x ** 3).sum())(fc.asarray([1., 2.]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    second = jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)
    return result_of(hessian, fun, argnums=argnums, has_aux=has_aux, holomorphic=holomorphic)(second)


@explaining
def stop_gradient(x):
    """x, as a constant to every derivative; works on pytrees.

    >>> import functorch_core as fc
    >>> fc.grad(lambda x: x * fc.stop_gradient(x))(fc.asarray(3.))
    Array(3., dtype=float32)
    """
    return tree.map_arrays(lambda leaf: wrap(stop(as_value(leaf))), x)


__all__ = [
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
