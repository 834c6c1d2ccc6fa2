"""Leaving the program: Python functions of host arrays, and custom calls by name.

pure_callback *args -> *outs    params: fun, out_avals, vmap_method
debug_callback *args -> *token  params: fun, tokens
io_callback *args -> *outs      params: fun, out_avals, tokens
custom_call *args -> *outs      params: target, out_avals, backend_config, api_version,
                                        reference
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.graph import Graph, Node, subgraphs
from ..core.lowering import LowerContext, Operand, tensor_type
from ..core.primitive import NOT_LINEAR, Primitive, Reason, Traits
from ..core.trace import Builder, Traced, bind, current
from ..core.types import Batcheds, Dims, Function, Jvps, Tangents, Value
from ..primitives import broadcast_in_dim, constant, reshape, slice_in_dim
from .batch import Axis, move_batch_axis
from .nested import present
from .scan import map_values, scan

CALLBACK = Traits(family="callback", expensive=True, carries=True, calls_back=True)
TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "cuda": "xla_ffi_python_gpu_callback"}

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")

OPAQUE = Reason("""a Python callback is opaque, it has no derivative of its own.
    wrong: fc.grad(lambda x: fc.pure_callback(f, shape, x))
    right: give the function around it a custom_jvp or custom_vjp rule, or
           stop_gradient its input""")

# ---- lowering ------------------------------------------------------------------------------------


def call_text(
    target: str,
    operands: Sequence[Operand],
    out_avals: Sequence[Aval],
    *,
    api_version: int = 4,
    backend_config: str = "",
    has_side_effect: bool = False,
) -> str:
    """The text of a stablehlo.custom_call."""
    config = f", backend_config = {backend_config}" if backend_config else ""
    results = ", ".join(map(tensor_type, out_avals))
    attributes = f"api_version = {api_version} : i32, has_side_effect = {str(has_side_effect).lower()}{config}"
    return (
        f"stablehlo.custom_call @{target}({', '.join(operands)}) {{{attributes}}} : "
        f"({', '.join(o.type for o in operands)}) -> " + (f"({results})" if len(out_avals) != 1 else results)
    )


def _lower_callback(
    ctx: LowerContext, operands: Sequence[Operand], fun: Function, out_avals: Sequence[Aval], has_side_effect: bool
) -> list[Operand]:
    if ctx.platform not in TARGETS:
        raise NotImplementedError(f"no Python callbacks on platform {ctx.platform!r}, only on " + ", ".join(TARGETS))
    index = ctx.callback(fun, operands, out_avals)
    text = call_text(
        TARGETS[ctx.platform],
        operands,
        out_avals,
        has_side_effect=has_side_effect,
        backend_config=f"{{index = {index} : ui64}}",
    )
    return ctx.raw(text, tuple(out_avals))


# ---- pure_callback -------------------------------------------------------------------------------


def pure_callback(
    fun: Function, out_avals: Sequence[Aval], args: Sequence[Value], *, vmap_method: str | None = None
) -> list[Value]:
    """fun(*arrays) -> arrays of `out_avals`, called by the running program with host arrays.

    It may be called any number of times, or not at all. `vmap_method` says what vmap does: call it
    for one example after the other ('sequential'; 'sequential_unrolled' is the same here), or once,
    with a leading batch dimension that is 1 ('expand_dims') or repeated ('broadcast_all') for
    arguments that are not batched.
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(f"pure_callback: vmap_method={vmap_method!r} is not one of {VMAP_METHODS}")
    return list(bind(pure_callback_p, *args, fun=fun, out_avals=tuple(out_avals), vmap_method=vmap_method))


def checked_results(fun: Function, results: tuple[np.ndarray, ...], out_avals: Sequence[Aval]) -> list[np.ndarray]:
    """What a callback returned, as arrays; TypeError or ValueError unless they are as declared."""
    name = getattr(fun, "__name__", repr(fun))
    results = results if isinstance(results, (tuple, list)) else (results,)
    if len(results) != len(out_avals):
        raise ValueError(f"callback {name} returned {len(results)} arrays, its declaration has {len(out_avals)}")
    arrays = [np.asarray(r) for r in results]
    for i, (array, a) in enumerate(zip(arrays, out_avals)):
        if aval_of(array) is not a:
            raise TypeError(
                f"callback {name}, result {i}: expected {a}, got {aval_of(array)}\n"
                "    Declare what it returns in result_shape_dtypes, or convert there: "
                "np.asarray(y, dtype)."
            )
    return arrays


def _callback_reference(
    *args: np.ndarray, fun: Function, out_avals: tuple[Aval, ...], vmap_method: str | None
) -> list[np.ndarray]:
    return checked_results(fun, fun(*(np.array(a) for a in args)), out_avals)


def _callback_batch(
    axis: Axis,
    args: Sequence[Value],
    dims: Dims,
    *,
    fun: Function,
    out_avals: tuple[Aval, ...],
    vmap_method: str | None,
) -> Batcheds:
    if vmap_method is None:
        raise NotImplementedError(
            f"vmap of a pure_callback without vmap_method; say vmap_method= one of {VMAP_METHODS}"
        )
    batched = present(dims)
    args = [move_batch_axis(axis, x, d, 0) if b else x for x, d, b in zip(args, dims, batched)]
    if vmap_method.startswith("sequential"):
        params = dict(fun=fun, out_avals=out_avals, vmap_method=vmap_method)
        return _one_by_one(pure_callback_p, args, batched, params), [0] * len(out_avals)
    size = axis.size if vmap_method == "broadcast_all" else 1
    args = [x if b else _repeated(x, size) for x, b in zip(args, batched)]
    new = tuple(a.with_shape((axis.size, *a.shape)) for a in out_avals)
    return bind(pure_callback_p, *args, fun=fun, out_avals=new, vmap_method=vmap_method), [0] * len(out_avals)


def _repeated(x: Value, size: int) -> Value:
    return broadcast_in_dim(x, shape=(size, *x.shape), dims=tuple(range(1, x.ndim + 1)))


def _one_by_one(
    primitive: Primitive, args: list[Value], batched: tuple[bool, ...], params: dict[str, Any]
) -> list[Value]:
    """The primitive on one example after the other: a scan over the batched arguments."""

    def one(*slices: Value) -> list[Value]:
        rest = iter(slices)
        return bind(primitive, *(next(rest) if b else x for x, b in zip(args, batched)), **params)

    return map_values(one, [x for x, b in zip(args, batched) if b])


pure_callback_p = Primitive(
    "pure_callback",
    traits=CALLBACK,
    multiple=True,
    shape=lambda *args, fun, out_avals, vmap_method: out_avals,
    reference=_callback_reference,
    lower=lambda ctx, *args, fun, out_avals, vmap_method: _lower_callback(ctx, args, fun, out_avals, False),
    jvp=OPAQUE,
    transpose=NOT_LINEAR,
    batch=_callback_batch,
)

# ---- debug_callback ------------------------------------------------------------------------------


# Ordered calls are chained by their data: each returns a token, a byte that the next one is an
# operand of. A loop or branch with ordered calls inside gives one of its results for a token.

TOKEN = aval((), dt.uint8)


def debug_callback(fun: Function, args: Sequence[Value], *, ordered: bool = False) -> None:
    """Call fun(*arrays) when the program comes there, for its effect; derivatives pass it by.

    Calls that depend on one another's data come in that order, others in any; `ordered` ones, of
    one program, in that in which they were traced.
    """
    if not ordered:
        bind(debug_callback_p, *args, fun=fun, tokens=None)
        return
    builder = current()
    tokens = [] if builder is None else _tokens(builder)
    (token,) = bind(debug_callback_p, *args, *tokens, fun=fun, tokens=len(tokens))
    if builder is not None:
        builder.ordered = (token, len(builder.nodes))


def io_callback(
    fun: Function, out_avals: Sequence[Aval], args: Sequence[Value], *, ordered: bool = False
) -> list[Value]:
    """fun(*arrays) -> arrays of `out_avals`, called once each time that the program comes there."""
    out_avals = tuple(out_avals)
    if not ordered:
        return list(bind(io_callback_p, *args, fun=fun, out_avals=out_avals, tokens=None))
    builder = current()
    tokens = [] if builder is None else _tokens(builder)
    *outs, token = bind(io_callback_p, *args, *tokens, fun=fun, out_avals=out_avals, tokens=len(tokens))
    if builder is not None:
        builder.ordered = (token, len(builder.nodes))
    return outs


def _tokens(builder: Builder) -> list[Value]:
    """What an ordered call comes after: the last one, and loops and branches with some inside."""
    last, begin = builder.ordered
    tokens = [] if last is None else [last]
    if last is None and builder.parent is not None:
        tokens = _tokens(builder.parent)
    for node in builder.nodes[begin:]:
        if _is_ordered(node) or any(map(has_ordered, subgraphs(node))):
            slot = next((s for s in node.outputs if builder.avals[s].size), None)
            if slot is not None:
                tokens.append(_first_element(Traced(builder.avals[slot], builder, slot)))
    return tokens


def _is_ordered(node: Node) -> bool:
    return node.primitive in (debug_callback_p, io_callback_p) and node.params["tokens"] is not None


def has_ordered(graph: Graph) -> bool:
    """Whether a graph, or one in it, has an ordered callback."""
    return any(_is_ordered(node) or any(map(has_ordered, subgraphs(node))) for node in graph.nodes)


def token_of_trace() -> list[Value]:
    """[a value that comes after the ordered calls of the innermost trace], or [] if it has none.

    What a branch without results returns, so that there is something to wait for.
    """
    builder = current()
    if builder is None or not any(map(_is_ordered, builder.nodes)):
        return []
    return _tokens(builder)[-1:]


def _first_element(x: Value) -> Value:
    """One number of an array, so that little is copied to the host."""
    for dimension in range(x.ndim):
        x = slice_in_dim(x, start=0, limit=1, dimension=dimension)
    return reshape(x, shape=())


def _debug_shape(*args: Aval | Operand, fun: Function, tokens: int | None) -> tuple[Aval, ...]:
    return () if tokens is None else (TOKEN,)


def _debug_call(fun: Function, tokens: int | None) -> Function:
    """What is called: fun of the arrays without the tokens."""

    def call(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        fun(*arrays[: len(arrays) - (tokens or 0)])
        return () if tokens is None else (np.zeros((), np.uint8),)

    return call


def _debug_reference(*args: np.ndarray, fun: Function, tokens: int | None) -> tuple[np.ndarray, ...]:
    return _debug_call(fun, tokens)(*(np.array(a) for a in args))


def _debug_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, fun: Function, tokens: int | None) -> Batcheds:
    batched = present(dims)
    args = [move_batch_axis(axis, x, d, 0) if b else x for x, d, b in zip(args, dims, batched)]
    params = dict(fun=fun, tokens=tokens)
    if tokens is None:
        return _one_by_one(debug_callback_p, args, batched, params), []
    params["tokens"] = tokens + 1  # that of the example before

    def one(carry: list[Value], slices: list[Value]) -> tuple[list[Value], list[Any]]:
        rest = iter(slices)
        args_of_one = [next(rest) if b else x for x, b in zip(args, batched)]
        return bind(debug_callback_p, *args_of_one, *carry, **params), []

    start = [constant(np.zeros((), np.uint8))]
    xs = [x for x, b in zip(args, batched) if b]
    return scan(one, start, xs)[0], [None]


def _debug_jvp(primals: Sequence[Value], tangents: Tangents, *, fun: Function, tokens: int | None) -> Jvps:
    outs = bind(debug_callback_p, *primals, fun=fun, tokens=tokens)
    return outs, [None] * len(outs)


debug_callback_p = Primitive(
    "debug_callback",
    traits=CALLBACK,
    multiple=True,
    effect=True,
    shape=_debug_shape,
    reference=_debug_reference,
    lower=lambda ctx, *args, fun, tokens: _lower_callback(
        ctx, args, _debug_call(fun, tokens), _debug_shape(*args, fun=fun, tokens=tokens), True
    ),
    jvp=_debug_jvp,
    transpose=NOT_LINEAR,
    batch=_debug_batch,
)

# ---- io_callback ---------------------------------------------------------------------------------


def _io_shape(
    *args: Aval | Operand, fun: Function, out_avals: tuple[Aval, ...], tokens: int | None
) -> tuple[Aval, ...]:
    return out_avals if tokens is None else (*out_avals, TOKEN)


def _io_call(fun: Function, out_avals: tuple[Aval, ...], tokens: int | None) -> Function:
    """What is called: fun of the arrays without the tokens; its results, and a token."""

    def call(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        outs = checked_results(fun, fun(*arrays[: len(arrays) - (tokens or 0)]), out_avals)
        return tuple(outs) if tokens is None else (*outs, np.zeros((), np.uint8))

    return call


def _io_reference(*args: np.ndarray, **params: Any) -> tuple[np.ndarray, ...]:
    return _io_call(**params)(*(np.array(a) for a in args))


def _io_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, tokens: int | None, **params: Any) -> Batcheds:
    if tokens is not None:
        raise NotImplementedError("vmap of an ordered io_callback: examples have no order; leave out ordered=True")
    batched = present(dims)
    args = [move_batch_axis(axis, x, d, 0) if b else x for x, d, b in zip(args, dims, batched)]
    outs = _one_by_one(io_callback_p, args, batched, {"tokens": tokens, **params})
    return outs, [0] * len(outs)


io_callback_p = Primitive(
    "io_callback",
    traits=CALLBACK,
    multiple=True,
    effect=True,
    shape=_io_shape,
    reference=_io_reference,
    lower=lambda ctx, *args, **params: _lower_callback(ctx, args, _io_call(**params), _io_shape(**params), True),
    jvp=OPAQUE,
    transpose=NOT_LINEAR,
    batch=_io_batch,
)

# ---- custom_call ---------------------------------------------------------------------------------


def custom_call(
    target: str,
    out_avals: Sequence[Aval],
    args: Sequence[Value],
    *,
    backend_config: str = "",
    api_version: int = 4,
    reference: Function | None = None,
) -> list[Value]:
    """A function that was registered with XLA under a name, called on arrays.

    The call is pure: it may be dropped or merged with an equal one. `backend_config` is the text of
    its attributes, '{lower = true}'. `reference` is what NumPy computes instead: without it the
    call only runs compiled.
    """
    return list(
        bind(
            custom_call_p,
            *args,
            target=target,
            out_avals=tuple(out_avals),
            backend_config=backend_config,
            api_version=api_version,
            reference=reference,
        )
    )


def _custom_call_reference(
    *args: np.ndarray, target: str, reference: Function | None, **_: Any
) -> tuple[np.ndarray, ...]:
    if reference is None:
        raise NotImplementedError(
            f"custom call {target!r} has no NumPy reference; compile it, or pass custom_call(..., reference=f)"
        )
    found = reference(*args)
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _custom_call_lower(
    ctx: LowerContext,
    *args: Operand,
    target: str,
    out_avals: tuple[Aval, ...],
    backend_config: str,
    api_version: int,
    reference: Function,
) -> list[Operand]:
    return ctx.raw(
        call_text(target, args, out_avals, backend_config=backend_config, api_version=api_version), out_avals
    )


custom_call_p = Primitive(
    "custom_call",
    traits=CALLBACK,
    multiple=True,
    shape=lambda *args, out_avals, **_: out_avals,
    reference=_custom_call_reference,
    lower=_custom_call_lower,
    jvp=Reason("XLA knows no derivative of it; put a custom_jvp or custom_vjp rule around it"),
    transpose=NOT_LINEAR,
    batch=Reason("its target decides what a batch is; put the call into a scan (map_values)"),
)
