"""Derivatives that users decide: stop_gradient, custom_jvp and custom_vjp.

    custom_jvp *primals -> *outs   params: graph, rule (a JvpRule)
    custom_vjp *primals -> *outs   params: graph, rule (a VjpRule)
    custom_lin *residuals, *tangents -> *out tangents   params: backward, a Backward

A rule is a user's function, traced when a derivative first needs it and remembered. It is a
parameter of the node and compares by identity. Batching a node batches its rule, as lazily.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval_of
from ..core.graph import Graph
from ..core.primitive import Primitive, Reason, Traits, Way
from ..core.reference import by_way, specialised
from ..core.trace import bind, evaluate, run, trace, trace_closed
from ..core.types import Batcheds, Cotangents, Dims, Function, Jvps, Tangents, Value
from ..primitives import reduce_sum, zeros
from ..primitives.structure import VIEW
from .batch import Axis, batch, move_batch_axis
from .collectives import axes_in_scope, in_axis
from .nested import Mask, avals_of, is_linear, parts, pick, spread
from .transpose import transpose_values

# ---- messages ------------------------------------------------------------------------------------

WRONG_RULE = """{rule} of `{name}`: {what}{index} is {found}, expected {expected}.
    {advice}"""

WRONG_NUMBER = """{rule} of `{name}` returned {found} {what}, expected {expected}, one per {of}.
    {advice}"""

JVP_ADVICE = """The rule takes (primals, tangents) and returns (outputs, tangents of the outputs):
    wrong: return f(x)                          right: return (f(x),), (df(x) * t,)
    A tangent has the shape and dtype of what it is the tangent of; None stands for zero."""

FWD_ADVICE = """The forward rule takes the primals and returns (outputs, residuals):
    wrong: return f(x)                          right: return (f(x),), (x,)"""

BWD_ADVICE = """The backward rule takes (residuals, cotangents) and returns one cotangent per input:
    wrong: return ct * x                        right: return (ct * x,)
    A cotangent has the shape and dtype of its input; None stands for zero, and is what an integer
    or bool input gets."""

FORWARD_MODE = """forward mode (jvp, jacfwd, linearize) came to a function with a custom_vjp rule,
    which only knows reverse mode (vjp, grad, jacrev).
    wrong: fc.jvp(f, (x,), (t,))                right: fc.vjp(f, x), or give f a custom_jvp rule"""

LINEAR_FORWARD = Reason(FORWARD_MODE)

# ---- stop_gradient -------------------------------------------------------------------------------


def stop_gradient(x: Value) -> Value:
    """x, as a constant for every derivative."""
    return bind(stop_gradient_p, x)


stop_gradient_p = Primitive(
    "stop_gradient",
    traits=VIEW.but(elementwise=True),
    shape=lambda x: x,
    reference=lambda x: x,
    lower=lambda ctx, x: x,
    jvp=lambda primals, tangents: (stop_gradient(primals[0]), None),
    transpose=Reason("its derivative is zero by definition"),
    batch=lambda axis, args, dims: (stop_gradient(args[0]), dims[0]),
)

# ---- rules: what they share ----------------------------------------------------------------------


def differentiable(avals: Sequence[Aval]) -> Mask:
    """Which avals have tangents: floating and complex ones."""
    return tuple(a.dtype in dt.INEXACT for a in avals)


def _check_each(found: Sequence[Value], expected: Sequence[Aval], **about: Any) -> None:
    """TypeError unless what a rule returned has these avals; None is checked by the caller."""
    for i, (x, a) in enumerate(zip(found, expected)):
        if x is not None and aval_of(x) is not a:
            raise TypeError(WRONG_RULE.format(index=f" {i}", found=aval_of(x), expected=a, **about))


def _check_number(found: Sequence[Value | None], expected: int, of: str, **about: Any) -> None:
    if len(found) != expected:
        raise TypeError(WRONG_NUMBER.format(found=len(found), expected=expected, of=of, **about))


def _pair(
    returned: Value | tuple[list[Value], list[Value | None]], rule: str, name: str, advice: str
) -> tuple[list[Any], list[Any]]:
    """A rule's two lists; TypeError for anything else."""
    if (
        not isinstance(returned, (tuple, list))
        or len(returned) != 2
        or not all(isinstance(part, (tuple, list)) for part in returned)
    ):
        raise TypeError(
            f"{rule} of `{name}` returned {type(returned).__name__}, expected a pair of sequences.\n    {advice}"
        )
    return list(returned[0]), list(returned[1])


def _filled(values: Sequence[Value | None], avals: Sequence[Aval]) -> list[Value]:
    """The values of the differentiable avals, None replaced by zeros."""
    return [zeros(a) if x is None else x for x, a, d in zip(values, avals, differentiable(avals)) if d]


class _Memo:
    """Remembers what each method derived, by its arguments."""

    def __init__(self) -> None:
        self.memo: dict[Any, Any] = {}

    def remember(self, key: tuple[Any, ...], make: Function) -> Any:
        """What `make()` gave the first time."""
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]


def _one_example(avals: Sequence[Aval], dims: Sequence[int | None]) -> tuple[Aval, ...]:
    return tuple(
        a if d is None else a.with_shape(a.shape[:d] + a.shape[d + 1 :]) for a, d in zip(avals, dims, strict=True)
    )


# ---- custom_jvp ----------------------------------------------------------------------------------


class JvpRule(_Memo):
    """A user's fun(primals, tangents) -> (outs, tangents of outs), lists of values.

    Tangents of integer and bool primals are None; all others are values, zeros included. on_host(*avals): what is
    quicker than NumPy for what the function computes of host arrays, a Way, or None.
    """

    def __init__(self, fun: Function, name: str = "", on_host: Function | None = None) -> None:
        super().__init__()
        self.fun, self.name = fun, name or getattr(fun, "__name__", "function")
        self.on_host = on_host

    def __repr__(self) -> str:
        return f"jvp rule of {self.name}"

    def dual(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Graph:
        """primals, tangents of the differentiable ones -> outs, tangents of the differentiable."""
        key = in_avals, out_avals, axes_in_scope()
        return self.remember(key, lambda: self._trace(in_avals, out_avals))

    def batched(self, axis: Axis, dims: tuple[int | None, ...]) -> BatchedJvpRule:
        """This rule for a whole axis of inputs."""
        return self.remember((axis, dims), lambda: BatchedJvpRule(self, axis, dims))

    def _trace(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Graph:
        mask = differentiable(in_avals)

        def fun(*args: Value) -> list[Value]:
            primals, tangents = parts(args, len(in_avals))
            about = dict(rule="jvp rule", name=self.name, advice=JVP_ADVICE)
            outs, dots = _pair(self.fun(primals, spread(mask, tangents)), **about)
            _check_number(outs, len(out_avals), "output of the function", what="outputs", **about)
            _check_each(outs, out_avals, what="output", **about)
            _check_number(dots, len(out_avals), "output", what="tangents", **about)
            _check_each(_filled(dots, out_avals), pick(out_avals, differentiable(out_avals)), what="tangent", **about)
            return [*outs, *_filled(dots, out_avals)]

        return trace_closed(fun, [*in_avals, *pick(in_avals, mask)], f"jvp_of_{self.name}")


class BatchedJvpRule(JvpRule):
    """A jvp rule under vmap: all outputs are batched, at dimension 0."""

    def __init__(self, base: JvpRule, axis: Axis, dims: tuple[int | None, ...]) -> None:
        super().__init__(base.fun, base.name)
        self.base, self.axis, self.dims = base, axis, dims

    def _trace(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Graph:
        with in_axis(self.axis):
            base = self.base.dual(_one_example(in_avals, self.dims), _one_example(out_avals, (0,) * len(out_avals)))
        dims = (*self.dims, *pick(self.dims, differentiable(in_avals)))
        return batch(base, self.axis, dims, (0,) * len(base.outputs))[0]


def custom_jvp(fun: Function, rule: JvpRule, args: Sequence[Value]) -> list[Value]:
    """fun(*args), a sequence of values, whose derivative is the rule's."""
    graph, captures = _own_graph(fun, args, rule.name)
    return list(bind(custom_jvp_p, *args, *captures, graph=graph, rule=rule))


def _own_graph(fun: Function, args: Sequence[Value], name: str) -> tuple[Graph, list[Any]]:
    graph, captures = trace(fun, avals_of(args), name)
    if captures:
        raise TypeError(
            f"`{name}` has a derivative of its own and closes over {captures[0]}, a "
            "traced value, which that derivative would not see.\n"
            "    Pass it as an argument instead."
        )
    return graph, captures


def _custom_jvp_jvp(
    primals: Sequence[Value], tangents: Tangents, *, graph: Graph, rule: BatchedJvpRule | JvpRule
) -> Jvps:
    mask, out_mask = differentiable(graph.in_avals), differentiable(graph.out_avals)
    dual = rule.dual(graph.in_avals, graph.out_avals)
    outs, dots = parts(run(dual, [*primals, *_filled(tangents, graph.in_avals)]), len(out_mask))
    return outs, spread(out_mask, dots) if any(mask) else [None] * len(outs)


def _custom_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, graph: Graph, rule: Any) -> Batcheds:
    dims, want = tuple(dims), (0,) * len(graph.outputs)
    new = batch(graph, axis, dims, want)[0]
    primitive = custom_jvp_p if isinstance(rule, JvpRule) else custom_vjp_p
    return bind(primitive, *args, graph=new, rule=rule.batched(axis, dims)), list(want)


def _transpose_through(cotangents: Tangents, *args: Value, graph: Graph, rule: JvpRule) -> Cotangents:
    """A linear function is transposed as it is computed; a rule for its derivative says nothing."""
    linear = is_linear(args)
    found = transpose_values(graph, linear, args, cotangents)
    return spread(linear, found)


def _way(params: Mapping[str, Any]) -> Way | None:
    on_host = params["rule"].on_host
    return on_host(*params["graph"].in_avals) if on_host else None


def _reference_at(*avals: Aval, graph: Graph, rule: JvpRule) -> Function:
    return by_way(_way({"graph": graph, "rule": rule}), graph)


@specialised(_reference_at)
def _reference(*args: Any, graph: Graph, rule: Any) -> list[np.ndarray]:
    return evaluate(graph, args)


custom_jvp_p = Primitive(
    "custom_jvp",
    traits=Traits(family="custom", primal="graph", whole=_way),
    multiple=True,
    shape=lambda *avals, graph, rule: graph.out_avals,
    reference=_reference,
    lower=lambda ctx, *args, graph, rule: ctx.graph(graph, args),
    jvp=_custom_jvp_jvp,
    transpose=_transpose_through,
    batch=_custom_batch,
)

# ---- custom_vjp ----------------------------------------------------------------------------------


class VjpRule(_Memo):
    """A user's two functions, of lists of values.

    fwd(*primals) -> (outs, residuals)
    bwd(residuals, cotangents) -> one cotangent (or None) for each primal

    Cotangents of integer and bool outputs are None; all others are values, zeros included.
    by_perturbed(perturbed) -> the rule of calls in which the derivative is taken by these primals, if that matters.
    """

    def __init__(self, fwd: Function, bwd: Function, name: str = "", by_perturbed: Function | None = None) -> None:
        super().__init__()
        self.fwd, self.bwd, self.name = fwd, bwd, name or getattr(fwd, "__name__", "function")
        self.by_perturbed = by_perturbed

    def __repr__(self) -> str:
        return f"vjp rule of {self.name}"

    def at(self, perturbed: tuple[bool, ...]) -> VjpRule:
        """The rule of calls in which these primals have a tangent."""
        by_perturbed = self.by_perturbed
        if by_perturbed is None:
            return self
        return self.remember(("perturbed", perturbed), lambda: by_perturbed(perturbed))

    def forward(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Graph:
        """primals -> outs, residuals."""
        key = in_avals, out_avals, axes_in_scope()
        return self.remember(key, lambda: self._forward(in_avals, out_avals))

    def backward(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Backward:
        """What custom_lin transposes with."""
        key = "backward", in_avals, out_avals, axes_in_scope()
        return self.remember(key, lambda: self._backward(in_avals, out_avals))

    def batched(self, axis: Axis, dims: tuple[int | None, ...]) -> BatchedVjpRule:
        """This rule for a whole axis of inputs."""
        return self.remember((axis, dims), lambda: BatchedVjpRule(self, axis, dims))

    def _forward(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Graph:
        def fun(*primals: Value) -> list[Value]:
            about = dict(rule="forward rule", name=self.name, advice=FWD_ADVICE)
            outs, residuals = _pair(self.fwd(*primals), **about)
            _check_number(outs, len(out_avals), "output of the function", what="outputs", **about)
            _check_each(outs, out_avals, what="output", **about)
            return [*outs, *residuals]

        return trace_closed(fun, in_avals, f"fwd_of_{self.name}")

    def _backward(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Backward:
        residuals = self.forward(in_avals, out_avals).out_avals[len(out_avals) :]
        return UserBackward(self, residuals, in_avals, out_avals)


class BatchedVjpRule(VjpRule):
    """A vjp rule under vmap: outputs are batched at dimension 0, residuals where they fall."""

    def __init__(self, base: VjpRule, axis: Axis, dims: tuple[int | None, ...]) -> None:
        super().__init__(base.fwd, base.bwd, base.name)
        self.base, self.axis, self.dims = base, axis, dims

    def at(self, perturbed: tuple[bool, ...]) -> VjpRule:
        base = self.base.at(perturbed)
        return self if base is self.base else base.batched(self.axis, self.dims)

    def _example(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> tuple[tuple[Aval, ...], ...]:
        return (_one_example(in_avals, self.dims), _one_example(out_avals, (0,) * len(out_avals)))

    def _batched_forward(
        self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]
    ) -> tuple[Graph, tuple[int | None, ...]]:
        with in_axis(self.axis):
            base = self.base.forward(*self._example(in_avals, out_avals))
        n = len(out_avals)
        want = (0,) * n + (None,) * (len(base.outputs) - n)
        return batch(base, self.axis, self.dims, want)

    def _forward(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Graph:
        return self._batched_forward(in_avals, out_avals)[0]

    def _backward(self, in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]) -> Backward:
        residual_dims = self._batched_forward(in_avals, out_avals)[1][len(out_avals) :]
        with in_axis(self.axis):
            base = self.base.backward(*self._example(in_avals, out_avals))
        return base.batched(self.axis, residual_dims, pick(self.dims, differentiable(in_avals)))


class Backward(_Memo):
    """The backward half of a vjp rule at some avals; `graph` is traced when first asked for.

    residuals, cotangents of the outputs in `out_avals` -> cotangents of the inputs in `in_avals`;
    only differentiable ones, in both.
    """

    def __init__(
        self, name: str, residuals: Sequence[Aval], in_avals: Sequence[Aval], out_avals: Sequence[Aval]
    ) -> None:
        super().__init__()
        self.name, self.residuals = name, tuple(residuals)
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)

    def __repr__(self) -> str:
        return f"backward rule of {self.name}"

    def graph(self) -> Graph:
        """The backward graph."""
        return self.remember(axes_in_scope(), self._graph)  # type: ignore[attr-defined]  # of each kind below

    def batched(
        self, axis: Axis, residual_dims: Sequence[int | None], tangent_dims: Sequence[int | None]
    ) -> BatchedBackward:
        """The same for a whole axis of residuals, cotangents and inputs."""
        key = (axis, tuple(residual_dims), tuple(tangent_dims))
        return self.remember(key, lambda: BatchedBackward(self, *key))


class UserBackward(Backward):
    """The user's backward function."""

    def __init__(
        self, rule: VjpRule, residuals: tuple[Aval, ...], in_avals: tuple[Aval, ...], out_avals: tuple[Aval, ...]
    ) -> None:
        super().__init__(
            rule.name, residuals, pick(in_avals, differentiable(in_avals)), pick(out_avals, differentiable(out_avals))
        )
        self.fun, self.all_in, self.all_out = rule.bwd, in_avals, out_avals

    def _graph(self) -> Graph:
        mask, out_mask = differentiable(self.all_in), differentiable(self.all_out)

        def fun(*args: Value) -> list[Value]:
            residuals, cotangents = parts(args, len(self.residuals))
            about = dict(rule="backward rule", name=self.name, advice=BWD_ADVICE)
            found = self.fun(residuals, spread(out_mask, cotangents))
            if not isinstance(found, (tuple, list)):
                raise TypeError(
                    f"backward rule of `{self.name}` returned {type(found).__name__}, "
                    f"expected a sequence.\n    {BWD_ADVICE}"
                )
            _check_number(found, len(mask), "input", what="cotangents", **about)
            found = _filled(found, self.all_in)
            _check_each(found, self.in_avals, what="cotangent", **about)
            return found

        return trace_closed(fun, [*self.residuals, *self.out_avals], f"bwd_of_{self.name}")


class BatchedBackward(Backward):
    """A backward rule under vmap. An input that is not batched gets the sum over the axis."""

    def __init__(
        self, base: Backward, axis: Axis, residual_dims: tuple[int | None, ...], tangent_dims: tuple[int | None, ...]
    ) -> None:
        def widen(avals: tuple[Aval, ...], dims: tuple[int | None, ...]) -> list[Aval]:
            return [
                a if d is None else a.with_shape(a.shape[:d] + (axis.size,) + a.shape[d:])
                for a, d in zip(avals, dims, strict=True)
            ]

        super().__init__(
            base.name,
            widen(base.residuals, residual_dims),
            widen(base.in_avals, tangent_dims),
            widen(base.out_avals, (0,) * len(base.out_avals)),
        )
        self.base, self.axis = base, axis
        self.residual_dims, self.tangent_dims = residual_dims, tangent_dims

    def _graph(self) -> Graph:
        with in_axis(self.axis):
            base = self.base.graph()
        dims = (*self.residual_dims, *(0,) * len(self.base.out_avals))
        batched = batch(base, self.axis, dims, (0,) * len(base.outputs))[0]

        def fun(*args: Value) -> list[Value]:
            return [
                reduce_sum(c, axes=(0,)) if d is None else move_batch_axis(self.axis, c, 0, d)
                for c, d in zip(run(batched, args), self.tangent_dims)
            ]

        return trace_closed(fun, [*self.residuals, *self.out_avals], base.name)


def custom_vjp(fun: Function, rule: VjpRule, args: Sequence[Value]) -> list[Value]:
    """fun(*args), a sequence of values, whose reverse-mode derivative is the rule's."""
    graph, captures = _own_graph(fun, args, rule.name)
    return list(bind(custom_vjp_p, *args, *captures, graph=graph, rule=rule))


def _custom_vjp_jvp(
    primals: Sequence[Value], tangents: Tangents, *, graph: Graph, rule: BatchedVjpRule | VjpRule
) -> Jvps:
    n, out_mask = len(graph.outputs), differentiable(graph.out_avals)
    rule = rule.at(tuple(t is not None for t in tangents))
    forward = rule.forward(graph.in_avals, graph.out_avals)
    outs, residuals = parts(run(forward, primals), n)
    if not any(out_mask):
        return outs, [None] * n
    dots = bind(
        custom_lin_p,
        *residuals,
        *_filled(tangents, graph.in_avals),
        backward=rule.backward(graph.in_avals, graph.out_avals),
    )
    return outs, spread(out_mask, dots)


custom_vjp_p = Primitive(
    "custom_vjp",
    traits=Traits(family="custom", primal="graph"),
    multiple=True,
    shape=lambda *avals, graph, rule: graph.out_avals,
    reference=_reference,
    lower=lambda ctx, *args, graph, rule: ctx.graph(graph, args),
    jvp=_custom_vjp_jvp,
    transpose=_transpose_through,
    batch=_custom_batch,
)

# ---- custom_lin ----------------------------------------------------------------------------------
# The tangent of a custom_vjp: linear, with a transpose and nothing that computes it.


def _custom_lin_transpose(cotangents: Tangents, *args: Value, backward: Backward) -> Cotangents:
    residuals, tangents = parts(args, len(backward.residuals))
    cotangents = [zeros(a) if c is None else c for c, a in zip(cotangents, backward.out_avals)]
    found = run(backward.graph(), [*residuals, *cotangents])
    return [*[None] * len(residuals), *(c if lin else None for c, lin in zip(found, is_linear(tangents)))]


def _custom_lin_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, backward: Backward) -> Batcheds:
    residual_dims, tangent_dims = parts(dims, len(backward.residuals))
    outs = bind(custom_lin_p, *args, backward=backward.batched(axis, residual_dims, tangent_dims))
    return outs, [0] * len(outs)


custom_lin_p = Primitive(
    "custom_lin",
    traits=Traits(family="custom"),
    multiple=True,
    shape=lambda *avals, backward: backward.out_avals,
    reference=LINEAR_FORWARD,
    lower=LINEAR_FORWARD,
    jvp=LINEAR_FORWARD,
    transpose=_custom_lin_transpose,
    batch=_custom_lin_batch,
)
