"""From a graph to the text of a StableHLO module.

A lowering rule is lower(ctx, *operands, **params) and returns the operand(s) that hold its result.
An operand is a string, its SSA name, that knows its aval:

    def _sin_lower(ctx, x):
        return ctx.op("stablehlo.sine", x, out=x.aval)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from .. import xla
from . import dtypes as dt
from .aval import Aval, aval
from .emulated import by_wider
from .graph import Graph, Literal, Node
from .trace import trace_closed
from .types import Function, Value

INLINE_CONSTANT = 1024  # elements; larger constants become parameters (a dense attribute of 4 MB costs 2 ms)


class Operand(str):
    """An SSA name with its aval.

    `made` says of what, for rules that lower a combination otherwise than its parts: the node and the
    operands that it was lowered from; None for the inputs of graphs and what rules write themselves.
    """

    __slots__ = ("aval", "made")
    aval: Aval
    made: tuple[Node, list[Operand]] | None

    def __new__(cls, name: str, aval: Aval) -> Operand:
        self = super().__new__(cls, name)
        self.aval, self.made = aval, None
        return self

    @property
    def type(self) -> str:
        """The MLIR type: tensor<2x3xf32>."""
        return tensor_type(self.aval)


def tensor_type(aval: Aval) -> str:
    """The MLIR type of an aval."""
    return xla.mlir_type(aval.shape, aval.dtype)


class LowerContext:
    """Collects the lines of one function body. Child contexts write the bodies of regions."""

    def __init__(self, platform: str, parent: LowerContext | None = None, inline: float = INLINE_CONSTANT) -> None:
        self.platform, self.inline = platform, inline  # larger constants become parameters
        self.root: LowerContext = parent.root if parent else self
        self.lines: list[str] = []
        if parent is None:
            self.counter = 0
            self.callbacks: list[tuple[Function, tuple[Aval, ...]]] = []
            self.hoisted: dict[Literal, Operand] = {}
            self.features: set[str] = set()
            self.locations: dict[tuple[Any, ...], str] = {}
            self.meshes: dict[xla.Mesh, str] = {}  # of a program for several devices; its own comes first
        self.location = ""

    def fresh(self) -> str:
        """A new SSA name."""
        self.root.counter += 1
        return f"%{self.root.counter}"

    @overload
    def op(self, name: str, *operands: Operand, out: Aval, attrs: str = "", regions: Sequence[str] = ()) -> Operand: ...
    @overload
    def op(
        self, name: str, *operands: Operand, out: Sequence[Aval], attrs: str = "", regions: Sequence[str] = ()
    ) -> list[Operand]: ...
    def op(
        self, name: str, *operands: Operand, out: Aval | Sequence[Aval], attrs: str = "", regions: Sequence[str] = ()
    ) -> Operand | list[Operand]:
        """Write `name`(operands) <{attrs}> (regions) in generic form.

        `out` is an aval, or a sequence of avals for several results; so is the return value.
        """
        outs = (out,) if isinstance(out, Aval) else out
        props = f" <{{{attrs}}}>" if attrs else ""
        body = f" ({', '.join(regions)})" if regions else ""
        types = ", ".join(o.type for o in operands)
        results = ", ".join(map(tensor_type, outs))
        return self.raw(f'"{name}"({", ".join(operands)}){props}{body} : ({types}) -> ({results})', out)

    @overload
    def raw(self, text: str, out: Aval) -> Operand: ...
    @overload
    def raw(self, text: str, out: Sequence[Aval]) -> list[Operand]: ...
    def raw(self, text: str, out: Aval | Sequence[Aval]) -> Operand | list[Operand]:
        """Write `%n = text` verbatim (a pretty form or a custom call); `out` as in `op`."""
        outs = (out,) if isinstance(out, Aval) else out
        result = self.fresh()
        head = f"{result} = " if len(outs) == 1 else f"{result}:{len(outs)} = " if outs else ""
        self.lines.append(f"{head}{text}{self.location}")
        if isinstance(out, Aval):
            return Operand(result, out)
        if len(outs) == 1:
            return [Operand(result, outs[0])]
        return [Operand(f"{result}#{i}", a) for i, a in enumerate(outs)]

    def mesh_name(self, mesh: xla.Mesh) -> str:
        """The name of a mesh, of this program's devices, in its text; ValueError for one of others."""
        meshes = self.root.meshes
        if mesh not in meshes:
            own = next(iter(meshes))
            if set(mesh.devices.flat) != set(own.devices.flat):
                raise ValueError(f"one program has shardings over {own} and {mesh}, which are of different devices")
            meshes[mesh] = f"mesh{len(meshes)}"
        return meshes[mesh]

    # -- constants

    def constant(self, value: Literal) -> Operand:
        """A concrete array: inline if small or uniform, otherwise a parameter of the program."""
        root = self.root
        if value.aval.size > root.inline:
            if value not in root.hoisted:
                root.hoisted[value] = Operand(f"%const{len(root.hoisted)}", value.aval)
            return root.hoisted[value]
        return self.dense(np.asarray(value.value))

    def dense(self, array: np.ndarray) -> Operand:
        """A small NumPy array written into the program text."""
        out = aval(array.shape, array.dtype)
        return self.raw(f"stablehlo.constant {xla.constant(array)} : {tensor_type(out)}", out)

    def full(self, out: Aval, fill: np.ndarray | complex) -> Operand:
        """An array of one repeated number."""
        scalar = np.asarray(fill).astype(out.dtype)
        text = xla.constant(scalar)  # dense<c>, which is also the splat form of any shape
        return self.raw(f"stablehlo.constant {text} : {tensor_type(out)}", out)

    # -- graphs inside graphs

    def graph(self, graph: Graph, operands: Sequence[Operand]) -> list[Operand]:
        """Write a graph's nodes here; the operands of its outputs."""
        graph = by_wider(graph)
        env = dict(zip(graph.inputs, operands, strict=True))
        for node in graph.nodes:
            self._node(graph, node, env)
        return [env[s] for s in graph.outputs]

    def _node(self, graph: Graph, node: Node, env: dict[int, Operand]) -> None:
        primitive = node.primitive
        saved, self.location = self.location, self.locate(primitive.name, node.source)
        rule = primitive.rule("lower", self.platform)
        operands = [env[s] for s in node.inputs]
        out = rule(self, *operands, **node.params)
        if not primitive.multiple and out.made is None:
            out.made = node, operands
        env.update(zip(node.outputs, out if primitive.multiple else (out,), strict=True))
        self.location = saved

    def locate(self, name: str, source: tuple[Any, ...] | None) -> str:
        """A reference to the location of an op and its user's line."""
        key = (name, source)
        found = self.root.locations.get(key)
        if found is None:
            found = self.root.locations[key] = f" loc(#loc{len(self.root.locations)})"
        return found

    def call(self, fun: Function, *operands: Operand, **params: Any) -> list[Operand]:
        """Lower by a function written with primitives: fun(*values, **params) -> value or values."""
        avals = tuple(o.aval for o in operands)
        return self.graph(graph_of(fun, avals, tuple(sorted(params.items()))), operands)

    def region(self, in_avals: Sequence[Aval], body: Function) -> str:
        """The text of a region: body(ctx, *block_arguments) -> operands it returns."""
        child = LowerContext(self.platform, self)
        child.location = self.location
        args = [Operand(child.fresh(), a) for a in in_avals]
        outs = body(child, *args)
        outs = outs if isinstance(outs, (list, tuple)) else (outs,)
        header = ", ".join(f"{a}: {a.type}" for a in args)
        child.lines.append(
            f'"stablehlo.return"({", ".join(outs)}) : ({", ".join(o.type for o in outs)}) -> (){child.location}'
        )
        block = f"^bb0({header}):\n" if args else ""
        return "{\n" + block + "\n".join(child.lines) + "\n}"

    def callback(self, fun: Function, operands: Sequence[Operand], out_avals: Sequence[Aval]) -> int:
        """Register a Python function of NumPy arrays; its index for the custom call."""
        dtypes = [o.aval.dtype for o in operands]
        if dt.complex32 in dtypes:
            fun = functools.partial(_of_stored, fun, dtypes)
        self.root.callbacks.append((fun, tuple(out_avals)))
        return len(self.root.callbacks) - 1


def _of_stored(fun: Function, dtypes: Sequence[np.dtype], *arrays: np.ndarray) -> Any:
    """fun of arrays as a device holds them: those of complex32 come as their bits."""
    return fun(*[a.view(d) for a, d in zip(arrays, dtypes)])


def callback_op(
    ctx: LowerContext,
    fun: Function,
    operands: Sequence[Operand],
    out_avals: Sequence[Aval],
    has_side_effect: bool = False,
) -> list[Operand]:
    """Write a call of fun(*arrays) -> sequence of arrays, on the host (CPU programs only)."""
    index, result = ctx.callback(fun, operands, out_avals), ctx.fresh()
    text, names = xla.custom_call_text(
        "xla_ffi_python_cpu_callback",
        operands,
        [o.aval for o in operands],
        out_avals,
        result=result,
        attributes=f"index = {index} : ui64",
        has_side_effect=has_side_effect,
        operand_matrices=[False] * len(operands),
        result_matrices=[False] * len(out_avals),
    )
    ctx.lines.append(text + ctx.location)
    return [Operand(n, a) for n, a in zip(names, out_avals, strict=True)]


_graphs: dict[tuple[Any, ...], Graph] = {}


def graph_of(fun: Function, avals: tuple[Aval, ...], params: tuple[tuple[str, int], ...] = ()) -> Graph:
    """The memoised graph of a function written with primitives (not a closure), at these avals."""
    key = (fun, avals, params)
    found = _graphs.get(key)
    if found is None:

        def flat(*values: Value) -> list[Value] | tuple[Value, ...]:
            out = fun(*values, **dict(params))
            return out if isinstance(out, (list, tuple)) else (out,)

        found = _graphs[key] = trace_closed(flat, avals, getattr(fun, "__name__", "function"))
    return found


# ---- whole programs ----------------------------------------------------------------------------------


class Lowered:
    """The text of a module and what it needs besides its inputs."""

    __slots__ = ("text", "hoisted", "callbacks", "features", "inputs", "outputs", "name")

    def __init__(self, graph: Graph, ctx: LowerContext, text: str) -> None:
        self.text, self.name = text, graph.name
        self.hoisted = [literal.value for literal in ctx.hoisted]
        self.callbacks, self.features = ctx.callbacks, frozenset(ctx.features)
        self.inputs = (*graph.in_avals, *(literal.aval for literal in ctx.hoisted))
        self.outputs = graph.out_avals


def lower(
    graph: Graph,
    platform: str = "cpu",
    aliases: Mapping[int, int] | None = None,
    inline: float = INLINE_CONSTANT,
    mesh: xla.Mesh | None = None,
    in_shardings: Sequence[xla.NamedSharding | None] = (),
    out_shardings: Sequence[xla.NamedSharding | None] = (),
    features: Collection[str] = (),
) -> Lowered:
    """The StableHLO module of a graph. Constants of more elements than `inline` are appended to its parameters.

    `aliases` maps inputs to the outputs that are written in their place. With a mesh it is a program for all its
    devices, with these shardings of its inputs and outputs (None: the partitioner's choice). `features` are what is
    known of it already ("jit": who calls it does so often; "portable": other processes and runtimes load it, so that it
    calls neither Python nor libraries), for its rules and its compile options.
    """
    ctx = LowerContext(platform, inline=inline)
    ctx.features |= set(features)
    if mesh is not None:
        ctx.meshes[mesh] = "mesh"
    args = [Operand(f"%arg{i}", a) for i, a in enumerate(graph.in_avals)]
    outs = ctx.graph(graph, args)
    aliases = aliases or {}
    attributes = [[f"tf.aliasing_output = {aliases[i]} : i32"] if i in aliases else [] for i in range(len(args))]
    for listed, a, sharding in zip(attributes, args, in_shardings):
        listed += _sharding_attribute(ctx, a.aval, sharding)
    header = [f"{a}: {a.type}" + _attributes(listed) for a, listed in zip(args, attributes)]
    header += [f"{a}: {a.type}" for a in ctx.hoisted.values()]
    results = ", ".join(o.type for o in outs)
    shown = results
    if mesh is not None:
        shown = ", ".join(
            o.type + _attributes(_sharding_attribute(ctx, o.aval, s)) for o, s in zip(outs, out_shardings)
        )
    lines = "\n".join(ctx.lines)
    text = (
        f"module @{_identifier(graph.name)}{_mesh_lines(ctx)}"
        f"func.func public @main({', '.join(header)}) -> ({shown}) {{\n{lines}\n"
        f'"func.return"({", ".join(outs)}) : ({results}) -> ()\n}}\n}}\n'
        + "\n".join(_location_lines(ctx.locations))
        + "\n"
    )
    return Lowered(graph, ctx, text)


def _attributes(listed: Sequence[str]) -> str:
    return f" {{{', '.join(listed)}}}" if listed else ""


def _sharding_attribute(ctx: LowerContext, a: Aval, sharding: xla.NamedSharding | None) -> list[str]:
    if sharding is None:
        return []
    return [f"sdy.sharding = #sdy.sharding{sharding.text(ctx.mesh_name(sharding.mesh), a.ndim)}"]


def _mesh_lines(ctx: LowerContext) -> str:
    """What a module for several devices begins with: their number, and its meshes."""
    if not ctx.meshes:
        return " {\n"
    own = next(iter(ctx.meshes))
    order = list(own.devices.flat)
    lines = [f" attributes {{mhlo.num_partitions = {own.size} : i32, mhlo.num_replicas = 1 : i32}} {{"]
    for mesh, name in ctx.meshes.items():
        axes = ", ".join(f'"{axis}"={n}' for axis, n in mesh.shape.items())
        ids = [order.index(d) for d in mesh.devices.flat]
        turned = f", device_ids={ids}" if ids != sorted(ids) else ""
        lines.append(f"sdy.mesh @{name} = <[{axes}]{turned}>")
    return "\n".join(lines) + "\n"


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name) or "graph"


def _location_lines(locations: dict[tuple[str, tuple[Any, ...] | None], str]) -> Iterator[str]:
    for i, (name, source) in enumerate(locations):
        if source is None:
            yield f'#loc{i} = loc("{name}")'
        else:
            file = source[0].replace("\\", "/").replace('"', "'")
            place = "/".join([*source[3:], name])  # of fc.named_scope
            yield f'#loc{i} = loc("{place}"("{file}":{source[1]}:0))'


def dims(values: Sequence[int]) -> str:
    """array<i64: 1, 2>: a static integer list attribute."""
    return f"array<i64: {', '.join(map(str, values))}>" if len(values) else "array<i64>"


def slice_op(
    ctx: LowerContext, x: Operand, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None
) -> Operand:
    """x[start:limit:strides], each of one entry a dimension."""
    steps = [1] * len(start) if strides is None else strides
    return ctx.op(
        "stablehlo.slice",
        x,
        out=x.aval.with_shape(tuple([-(-(e - b) // s) for b, e, s in zip(start, limit, steps)])),
        attrs=f"start_indices = {dims(start)}, limit_indices = {dims(limit)}, strides = {dims(steps)}",
    )


def full_precision(ctx: LowerContext, dtype: np.dtype) -> str:
    """Of a product the attribute that it is computed in its dtype: left to itself XLA rounds the operands to 10 bits
    on a GPU (TF32; sums of 512 products are off by 3e-4)."""
    if ctx.platform == "cpu" or dtype not in (dt.float32, dt.complex64):
        return ""
    return ", precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]"


def dense_int(values: Any) -> str:
    """dense<[[0, 1]]> : tensor<1x2xi64>, the attribute form of an integer matrix."""
    array = np.asarray(values, np.int64)
    body = str(array.tolist()) if array.size else ""
    shape = "".join(f"{n}x" for n in array.shape)
    return f"dense<{body}> : tensor<{shape}i64>" if math.prod(array.shape) else f"dense<> : tensor<{shape}i64>"
