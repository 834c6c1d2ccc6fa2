"""jax.export: compiled functions as StableHLO, for other processes and other runtimes.

    exported = export.export(fc.jit(f))(fc.ShapeDtypeStruct((3,), fc.float32))
    open("f.bin", "wb").write(exported.serialize())
    ...
    export.deserialize(open("f.bin", "rb").read()).call(x)

`mlir_module_serialized` is a portable artifact of StableHLO, which any runtime for it loads.

With sizes by name (`symbolic_shape("b, 3")`) one file is for all sizes: see SymbolicExported.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import functorch_core as fc

from . import xla
from .array import saving
from .array.array import wrap
from .array.compose import missing_name
from .array.jit import Jitted, Lowered, listed
from .array.saving import kind_data, kind_of_data, packed, structure_of, tree_data, unpacked
from .array.symbols import Dim, SymbolicScope, samples, shape_of, solved
from .array.templates import Template, dim_of, fitted, holds, monomials, template, terms_of
from .array.tracing import arguments, numbers_as, shown_tree
from .core import tree
from .core.aval import aval
from .core.explain import explaining
from .core.graph import Graph, subgraphs
from .core.lowering import lower
from .core.trace import run, state
from .engine import from_buffer, to_buffer
from .engine.modes import settings
from .engine.units import SCALAR_AVALS

PORTABLE = ("portable",)
FORMAT = "functorch-core export 1"
NOT_JITTED = "export takes what fc.jit made, got {kind}\n    wrong: export(f)(x)      right: export(fc.jit(f))(x)"
NOT_A_FILE = "export.deserialize takes what Exported.serialize gave; these bytes are something else"
CALLS_BACK = "export: `{name}` calls Python ({primitive}), which no other process has\n    Leave the callback out."
OTHER_ARGUMENTS = "the exported `{name}` takes {wanted}; it was called with {found}"
NO_VJP = "the exported `{name}` was saved without derivatives: exported.serialize(vjp_order=1) keeps them"
WRONG_PLATFORM = (
    "the exported `{name}` is of {platforms}, the default device is {platform}\n    export(f, platforms=...)"
)


class Exported:
    """An exported function: its module, its signature, and a way to call it."""

    nr_devices, ordered_effects, unordered_effects, uses_global_constants = 1, (), (), False
    calling_convention_version = 9

    def __init__(self, name, in_tree, kinds, out_tree, out_avals, modules, graph=None, vjp=None):
        self.fun_name, self.in_tree, self.kinds = name, in_tree, tuple(kinds)
        self.out_tree, self.out_avals = out_tree, tuple(out_avals)
        self._modules: dict[str, bytes] = modules  # by platform
        self._graph: Graph | None = graph  # of one that was made here
        self._vjp: Exported | None = vjp
        self.in_avals = tuple([SCALAR_AVALS.get(k, k) for k in self.kinds])
        self.module_kept_var_idx = tuple(range(len(self.kinds)))
        self.call = self._callable()

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that it can run on."""
        return tuple(self._modules)

    @property
    def mlir_module_serialized(self) -> bytes:
        """The portable artifact of StableHLO, of the first platform."""
        return next(iter(self._modules.values()))

    def mlir_module(self) -> str:
        """The text of the StableHLO module."""
        return _text(self.mlir_module_serialized)

    def __repr__(self):
        return f"Exported(fun_name={self.fun_name}, {listed(self.kinds)} -> {listed(self.out_avals)})"

    # -- calls

    def _callable(self) -> Callable:
        def call(*args, **kwargs):
            leaves, in_tree = tree.flatten((args, kwargs))
            values, kinds = arguments(leaves, self.fun_name)
            if len(kinds) == len(self.kinds):  # traced numbers (of a gradient) where there was one of Python
                values = [numbers_as(w, v) for w, v in zip(self.kinds, values)]
                kinds = [
                    w if SCALAR_AVALS.get(w, 0) == wrap(v).aval else k for w, k, v in zip(self.kinds, kinds, values)
                ]
            kinds = [w if SCALAR_AVALS.get(k) == w else k for k, w in zip(kinds, self.kinds)]
            wide = [SCALAR_AVALS.get(w, w) for w in self.kinds]
            if in_tree != self.in_tree or [SCALAR_AVALS.get(k, k) for k in kinds] != wide:
                shown = [f"{listed(k)} in {shown_tree(t)}" for k, t in ((self.kinds, self.in_tree), (kinds, in_tree))]
                raise TypeError(OTHER_ARGUMENTS.format(name=self.fun_name, wanted=shown[0], found=shown[1]))
            outs = self._run([wrap(v) for v in values])
            return self.out_tree.unflatten(outs)

        call.__name__ = call.__qualname__ = self.fun_name
        return call

    def _run(self, arrays: list) -> list:
        if self._graph is not None:
            return [wrap(v) for v in run(self._graph, [a._value for a in arrays])]
        if state.builder is None:
            return self._run_program(arrays)
        return self._run_traced(*arrays)

    @functools.cached_property
    def _executable(self):
        device = xla.default_device()
        if device.platform not in self._modules:
            raise ValueError(
                WRONG_PLATFORM.format(name=self.fun_name, platforms=", ".join(self.platforms), platform=device.platform)
            )
        text = _text(self._modules[device.platform])
        return xla.compile(text, inputs=self.in_avals, outputs=self.out_avals, device=device, name=self.fun_name)

    def _run_program(self, arrays: list) -> list:
        buffers = [to_buffer(a._value, self._executable.device) for a in arrays]
        return [wrap(from_buffer(b)) for b in self._executable(buffers)]

    @functools.cached_property
    def _run_traced(self) -> Callable:
        """The saved program inside of a trace: it is called back, for a module is no graph."""
        specs = [fc.ShapeDtype(a.shape, a.dtype) for a in self.out_avals]

        def compute(*arrays):
            return [np.asarray(x) for x in self._run_program([fc.asarray(a) for a in arrays])]

        @fc.custom_vjp
        def called(*arrays):
            return fc.pure_callback(compute, specs, *arrays, vmap_method="sequential")

        def backward(arrays, cotangents):
            return tuple(self.vjp().call(*arrays, *cotangents))

        called.defvjp(lambda *arrays: (called(*arrays), arrays), backward)
        return called

    # -- derivatives

    def has_vjp(self) -> bool:
        """Whether it can be differentiated."""
        return self._vjp is not None or self._graph is not None

    def vjp(self) -> Exported:
        """The exported (*args, *cotangents of the results) -> (*cotangents of the arguments), all flat."""
        if self._vjp is None:
            if self._graph is None:
                raise ValueError(NO_VJP.format(name=self.fun_name))
            self._vjp = export(fc.jit(self._backward()), platforms=self.platforms)(*_specs(self))
        return self._vjp

    def _backward(self) -> Callable:
        n = len(self.kinds)

        def forward(*arrays):
            return tuple(wrap(v) for v in run(self._graph, [a._value for a in arrays]))

        def backward(*flat):
            return fc.vjp(forward, *flat[:n])[1](tuple(flat[n:]))

        backward.__name__ = f"vjp_{self.fun_name}"
        return backward

    # -- files

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, with its derivatives up to an order."""
        vjp = bytes(self.vjp().serialize(vjp_order - 1)) if vjp_order > 0 else b""
        header = {
            "format": FORMAT,
            "name": self.fun_name,
            "in_tree": tree_data(self.in_tree),
            "out_tree": tree_data(self.out_tree),
            "kinds": list(map(kind_data, self.kinds)),
            "out_avals": list(map(kind_data, self.out_avals)),
            "platforms": list(self._modules),
        }
        return bytearray(packed(header, vjp, *self._modules.values()))


WRONG_SIZES = "the exported `{name}` takes shapes {wanted}; it was called with {found}: {reason}"
NO_MODULE = """an export for sizes by name has no module of its own: exported.at(b=8) is the function at one size,
    with mlir_module() and mlir_module_serialized."""
CHECKED = 3  # programs that the formulas were not fitted to, and hold for


class SymbolicExported:
    """An exported function for all sizes of some dimensions: `call` finds out which, `at(b=8)` is one with numbers.

    It is not one program: its text is kept with formulas of the sizes where numbers were, and compiled for each size
    that it is called with. The function is traced at several sizes from 5 to 40,000 when it is exported, and it is a
    ValueError if the programs differ in more than numbers. What it does for fewer than 5 alone is not seen.
    """

    def __init__(self, name, in_tree, in_specs, out_tree, out_specs, templates, scopes, vjp=None, make_vjp=None):
        self.fun_name, self.in_tree, self.in_avals = name, in_tree, tuple(in_specs)
        self.out_tree, self.out_avals, self._templates = out_tree, tuple(out_specs), templates
        self._scopes, self._vjp, self._make_vjp = scopes, vjp, make_vjp
        self.platforms, self._known = tuple(templates), {}

    @classmethod
    def traced(cls, fun_jit, platforms: Sequence[str], args, kwargs) -> SymbolicExported:
        """Trace the function at as many sizes as its formulas need, and some more."""
        leaves, in_tree = tree.flatten((args, kwargs))
        dims = [d for x in leaves for d in getattr(x, "shape", ()) if isinstance(d, Dim)]
        symbols = sorted({name for d in dims for name in d.symbols})
        scopes = list({id(d.scope): d.scope for d in dims if d.scope is not None}.values())
        sizes = list(itertools.islice(samples(symbols, scopes), len(monomials(symbols)) + CHECKED))
        signatures = _signatures(fun_jit, in_tree, leaves, sizes)
        s = signatures[0]
        _check_closed(s.graph, s.name)
        texts = {p: [_portable_text(x.graph, p) for x in signatures] for p in platforms}
        templates = {p: template(s.name, found, sizes, symbols) for p, found in texts.items()}
        with contextlib.suppress(StopIteration):  # where the constraints leave nothing large
            large = next(samples(symbols, scopes, large=True))
            (whole,) = _signatures(fun_jit, in_tree, leaves, [large])
            for p, found in templates.items():
                holds(s.name, found, _portable_text(whole.graph, p), large, sizes[0])
        outs = [_fitted_shape([x.out_avals[i] for x in signatures], sizes, symbols) for i in range(len(s.out_avals))]
        specs = [x if _is_symbolic(x) else k for x, k in zip(leaves, s.kinds)]

        def make_vjp():
            def backward(*flat):
                n = len(leaves)
                flat_fun = lambda *xs: tuple(tree.leaves(_applied(fun_jit, in_tree, xs)))  # noqa: E731
                return fc.vjp(flat_fun, *flat[:n])[1](tuple(flat[n:]))

            backward.__name__ = f"vjp_{s.name}"
            wanted = [_as_spec(x) for x in (*specs, *outs)]
            return SymbolicExported.traced(fc.jit(backward), platforms, tuple(wanted), {})

        return cls(s.name, in_tree, specs, s.out_tree, outs, templates, scopes, make_vjp=make_vjp)

    def __repr__(self):
        return f"Exported(fun_name={self.fun_name}, {_listed(self.in_avals)} -> {_listed(self.out_avals)})"

    def at(self, **sizes: int) -> Exported:
        """The exported function where the names have these sizes."""
        key = tuple(sorted(sizes.items()))
        if key not in self._known:
            kinds = [_kind(_at(x, sizes)) for x in self.in_avals]
            outs = [_kind(_at(x, sizes)) for x in self.out_avals]
            modules = {p: portable(t.at(sizes)) for p, t in self._templates.items()}
            self._known[key] = Exported(self.fun_name, self.in_tree, kinds, self.out_tree, outs, modules)
        found = self._known[key]
        if found._vjp is None and self._vjp is not None:
            found._vjp = self._vjp.at(**sizes)
        return found

    def call(self, *args, **kwargs):
        """The function, of arrays whose shapes tell the sizes."""
        leaves, in_tree = tree.flatten((args, kwargs))
        shapes = [np.shape(x) for x in leaves]
        wanted = [x.shape if _is_symbolic(x) else None for x in self.in_avals]
        try:
            if in_tree != self.in_tree or any(w and len(w) != len(f) for w, f in zip(wanted, shapes)):
                raise ValueError(f"expected {shown_tree(self.in_tree)} of the same ranks, got {shown_tree(in_tree)}")
            sizes = solved(wanted, shapes)
            failing = [c for scope in self._scopes for c in scope.failing(sizes)]
            if failing:
                raise ValueError(f"{failing[0]} does not hold of {sizes}")
        except ValueError as error:
            found = ", ".join(map(str, shapes))
            raise ValueError(
                WRONG_SIZES.format(name=self.fun_name, wanted=_listed(self.in_avals), found=found, reason=error)
            ) from None
        return self.at(**sizes).call(*args, **kwargs)

    def has_vjp(self) -> bool:
        """Whether it can be differentiated."""
        return self._vjp is not None or self._make_vjp is not None

    def vjp(self) -> SymbolicExported:
        """The exported (*args, *cotangents of the results) -> (*cotangents of the arguments), all flat."""
        if self._vjp is None:
            if self._make_vjp is None:
                raise ValueError(NO_VJP.format(name=self.fun_name))
            self._vjp = self._make_vjp()
        return self._vjp

    @property
    def mlir_module_serialized(self) -> bytes:
        """ValueError: see `at`."""
        raise ValueError(NO_MODULE)

    def mlir_module(self) -> str:
        """ValueError: see `at`."""
        raise ValueError(NO_MODULE)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, with its derivatives up to an order."""
        vjp = bytes(self.vjp().serialize(vjp_order - 1)) if vjp_order > 0 else b""
        header = {
            "format": FORMAT,
            "name": self.fun_name,
            "in_tree": tree_data(self.in_tree),
            "out_tree": tree_data(self.out_tree),
            "in_shapes": list(map(_spec_data, self.in_avals)),
            "out_shapes": list(map(_spec_data, self.out_avals)),
            "constraints": [list(scope.constraints) for scope in self._scopes],
            "platforms": list(self._templates),
        }
        return bytearray(packed(header, vjp, *[json.dumps(t.data()).encode() for t in self._templates.values()]))

    @classmethod
    def of_data(cls, header: dict, blobs: Sequence[bytes], vjp: SymbolicExported | None) -> SymbolicExported:
        """What `serialize` gave."""
        templates = {p: Template.of_data(json.loads(b)) for p, b in zip(header["platforms"], blobs)}
        ins, outs = (list(map(_spec_of_data, header[k])) for k in ("in_shapes", "out_shapes"))
        trees = [structure_of(header[k]) for k in ("in_tree", "out_tree")]
        scopes = list(map(SymbolicScope, header["constraints"]))
        return cls(header["name"], trees[0], ins, trees[1], outs, templates, scopes, vjp=vjp)


def _signatures(fun_jit, in_tree, leaves, sizes) -> list:
    """The signatures of a function at several sizes, in whose graphs what counts is computed."""
    fun_jit.clear_cache()
    settings.sizes_by_name = True
    try:
        calls = [in_tree.unflatten([_at(x, found) for x in leaves]) for found in sizes]
        return [fun_jit._jitted.lower(*args, **kwargs)._signature for args, kwargs in calls]
    finally:
        settings.sizes_by_name = False
        fun_jit.clear_cache()


def _portable_text(graph: Graph, platform: str) -> str:
    return lower(graph, platform, inline=float("inf"), features=PORTABLE).text


def _is_symbolic(x) -> bool:
    return isinstance(x, fc.ShapeDtype) and any(isinstance(d, Dim) for d in x.shape)


def _at(x, sizes):
    """A spec with numbers for its names."""
    if not _is_symbolic(x):
        return x
    return fc.ShapeDtype([int(d.at(sizes)) if isinstance(d, Dim) else d for d in x.shape], x.dtype)


def _kind(x):
    return aval(x.shape, x.dtype) if isinstance(x, fc.ShapeDtype) else x


def _as_spec(x):
    if isinstance(x, fc.ShapeDtype):
        return x
    a = SCALAR_AVALS.get(x, x)
    return fc.ShapeDtype(a.shape, a.dtype)


def _applied(fun: Callable, in_tree, leaves):
    args, kwargs = in_tree.unflatten(leaves)
    return fun(*args, **kwargs)


def _fitted_shape(avals: Sequence, sizes, symbols):
    columns = list(zip(*[a.shape for a in avals]))
    dims = [c[0] if len(set(c)) == 1 else fitted(c, sizes, symbols) for c in columns]
    return fc.ShapeDtype(dims, avals[0].dtype) if any(isinstance(d, Dim) for d in dims) else avals[0]


def _listed(specs) -> str:
    return ", ".join(
        [
            f"{x.dtype.name}[{','.join(map(str, x.shape))}]" if isinstance(x, fc.ShapeDtype) else listed([x])
            for x in specs
        ]
    )


def _spec_data(x):
    if not _is_symbolic(x):
        return kind_data(_kind(x))
    return {"dims": [terms_of(d) if isinstance(d, Dim) else d for d in x.shape], "dtype": x.dtype.name}


def _spec_of_data(data):
    if isinstance(data, dict):
        return fc.ShapeDtype([dim_of(d) if isinstance(d, list) else d for d in data["dims"]], data["dtype"])
    return kind_of_data(data)


def _specs(exported: Exported) -> list:
    return [fc.ShapeDtype(a.shape, a.dtype) for a in (*exported.in_avals, *exported.out_avals)]


def _text(artifact: bytes) -> str:
    from .xla.mlir import module_text

    return module_text(artifact)


def _artifact(graph: Graph, platform: str) -> bytes:
    return portable(_portable_text(graph, platform))


def portable(text: str) -> bytes:
    """The portable artifact of a module's text."""
    from .xla.mlir import portable_artifact

    return portable_artifact(text)


def _check_closed(graph: Graph, name: str):
    """TypeError for what calls Python."""
    for node in graph.nodes:
        if node.primitive.traits.calls_back and node.primitive.name.endswith("callback"):
            raise TypeError(CALLS_BACK.format(name=name, primitive=node.primitive.name))
        for inner in subgraphs(node):
            _check_closed(inner, name)


@explaining
def export(fun_jit: Callable, *, platforms: Sequence[str] | None = None, disabled_checks: Sequence = ()) -> Callable:
    """A function of arguments (or fc.ShapeDtype in their place) that gives the Exported function.

    fun_jit: what fc.jit made. platforms: "cpu", "cuda"; by default that of the default device.

    >>> import functorch_core as fc
    >>> from functorch_core import export
    >>> exported = export.export(fc.jit(fc.sin))(fc.ShapeDtypeStruct((2,), fc.float32))
    >>> export.deserialize(exported.serialize()).call(fc.zeros(2))
    Array([0., 0.], dtype=float32)
    """
    for check in disabled_checks:
        if not isinstance(check, DisabledSafetyCheck):
            raise TypeError(f"export: disabled_checks are of export.DisabledSafetyCheck, got {check!r:.60}")
    if f"{getattr(fun_jit, '__module__', '')}.".startswith(f"{__package__}.") and not hasattr(fun_jit, "_jitted"):
        fun_jit = fc.jit(fun_jit)  # fc.sin, which in JAX is one that jit made
    jitted = getattr(fun_jit, "_jitted", None)
    if not isinstance(jitted, Jitted):
        raise ValueError(NOT_JITTED.format(kind=getattr(fun_jit, "__name__", type(fun_jit).__name__)))
    names = [default_export_platform()] if platforms is None else [{"gpu": "cuda"}.get(p, p) for p in platforms]

    def exporting(*args, **kwargs) -> Exported | SymbolicExported:
        if any(_is_symbolic(x) for x in tree.leaves((args, kwargs))):
            return SymbolicExported.traced(fun_jit, names, args, kwargs)
        lowered: Lowered = jitted.lower(*args, **kwargs)
        s = lowered._signature
        _check_closed(s.graph, s.name)
        modules = {platform: _artifact(s.graph, platform) for platform in names}
        return Exported(s.name, s.in_tree, s.kinds, s.out_tree, s.out_avals, modules, s.graph)

    return exporting


def default_export_platform() -> str:
    """The platform of the default device.

    >>> from functorch_core import export
    >>> export.default_export_platform()
    'cpu'
    """
    return xla.default_device().platform


@explaining
def deserialize(blob: bytes) -> Any:
    """The function that Exported.serialize gave as bytes. ValueError for other bytes.

    >>> import functorch_core as fc
    >>> from functorch_core import export
    >>> export.deserialize(export.export(fc.jit(lambda x: x + 1))(1.).serialize()).call(2.)
    Array(3., dtype=float32)
    """
    try:
        header, (vjp, *modules) = unpacked(blob)
    except ValueError:
        raise ValueError(NOT_A_FILE) from None
    if header.get("format") != FORMAT:
        raise ValueError(NOT_A_FILE)
    if "in_shapes" in header:
        return SymbolicExported.of_data(header, modules, deserialize(vjp) if vjp else None)
    return Exported(
        header["name"],
        structure_of(header["in_tree"]),
        list(map(kind_of_data, header["kinds"])),
        structure_of(header["out_tree"]),
        list(map(kind_of_data, header["out_avals"])),
        dict(zip(header["platforms"], modules)),
        vjp=deserialize(vjp) if vjp else None,
    )


@explaining
def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable,
    deserialize_auxdata: Callable,
    from_children: Callable | None = None,
):
    """Let files have a container: its name there, and its auxiliary data as bytes.

    >>> from functorch_core import export
    >>> import functorch_core as fc
    >>> @fc.tree.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    ...     def tree_flatten(self): return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children): return cls(*children)
    >>> export.register_pytree_node_serialization(
    ...     Pair, serialized_name="Pair", serialize_auxdata=lambda aux: b"", deserialize_auxdata=lambda data: None
    ... ) is Pair
    True
    """
    make = from_children or (lambda aux, children: _unflattened(nodetype, aux, children))
    saving.registered[serialized_name] = nodetype, serialize_auxdata, deserialize_auxdata, make
    return nodetype


def _unflattened(nodetype: type, aux, children):
    if hasattr(nodetype, "tree_unflatten"):
        return nodetype.tree_unflatten(aux, children)
    return nodetype(*children)


@explaining
def register_namedtuple_serialization(nodetype: type, *, serialized_name: str):
    """Let files have a named tuple, by a name.

    >>> from functorch_core import export
    >>> import collections
    >>> Point = export.register_namedtuple_serialization(
    ...     collections.namedtuple("Point", "x y"), serialized_name="Point"
    ... )
    """
    saving.registered[serialized_name] = (
        nodetype,
        lambda aux: b"",
        lambda data: None,
        lambda aux, children: nodetype(*children),
    )
    return nodetype


class DisabledSafetyCheck:
    """A check that export is not to make. None is made but that the module is StableHLO, so that any may be named."""

    def __init__(self, name: str):
        self._name = name

    def __repr__(self):
        return f"DisabledSafetyCheck({self._name!r})"

    def __eq__(self, other):
        return isinstance(other, DisabledSafetyCheck) and self._name == other._name

    def __hash__(self):
        return hash(self._name)

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """That the function is called on a platform it was exported for; a call on another one raises all the same."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """That a call of a library's function keeps its meaning."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name of the library's function, if it is about one."""
        return self._name.removeprefix("custom_call:") if self._name.startswith("custom_call:") else None


maximum_supported_calling_convention_version = Exported.calling_convention_version
minimum_supported_calling_convention_version = Exported.calling_convention_version


def is_symbolic_dim(p) -> bool:
    """Whether a size is one by name.

    >>> import functorch_core as fc
    >>> fc.export.is_symbolic_dim(3), fc.export.is_symbolic_dim(fc.export.symbolic_shape("b, 3")[0])
    (False, True)
    """
    return isinstance(p, Dim)


@explaining
def symbolic_shape(shape_spec, *, constraints: Sequence[str] = (), scope=None, like=None) -> tuple:
    """A shape with sizes by name, for the arguments that a function is exported with.

    shape_spec: "b, 2*n + 1, 3"; "_" and "..." are as in `like`. constraints: "b >= 4", "mod(b, 8) == 0", of the sizes
    that it will be called with. scope: a SymbolicScope in place of constraints, for several shapes.

    >>> import functorch_core as fc
    >>> from functorch_core import export
    >>> shape = export.symbolic_shape("b, 3")
    >>> exported = export.export(fc.jit(lambda x: x.mean(0)))(fc.ShapeDtypeStruct(shape, fc.float32))
    >>> exported.call(fc.ones((5, 3))), exported.call(fc.ones((70, 3)))
    (Array([1., 1., 1.], dtype=float32), Array([1., 1., 1.], dtype=float32))
    """
    return shape_of(shape_spec, SymbolicScope(constraints) if scope is None else scope, like)


@explaining
def symbolic_args_specs(args, shapes_specs, constraints: Sequence[str] = (), scope=None):
    """fc.ShapeDtypeStruct for each argument, of its dtype and of the shape by name that a text gives.

    shapes_specs: a text for all arguments, or a pytree of texts (None: as it is) that is a prefix of theirs.

    >>> import numpy as np
    >>> from functorch_core import export
    >>> export.symbolic_args_specs([np.ones((4, 3)), np.ones(4)], ["b, ...", "b"])
    [ShapeDtype(shape=(b, 3), dtype=float64), ShapeDtype(shape=(b,), dtype=float64)]
    """
    scope = SymbolicScope(constraints) if scope is None else scope
    whole = tree.broadcast(shapes_specs, args, is_leaf=lambda x: x is None or isinstance(x, str))
    leaves, treedef = tree.flatten(args)
    specs = tree.leaves(whole, is_leaf=lambda x: x is None)
    arrays = [x if hasattr(x, "shape") else np.asarray(x) for x in leaves]
    return treedef.unflatten(
        [fc.ShapeDtypeStruct(shape_of(s, scope, a.shape), a.dtype) for s, a in zip(specs, arrays, strict=True)]
    )


__getattr__ = missing_name("export", {})

__all__ = [
    "DisabledSafetyCheck", "Exported", "SymbolicExported", "SymbolicScope", "default_export_platform", "deserialize",
    "export", "is_symbolic_dim",
    "maximum_supported_calling_convention_version", "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization", "register_pytree_node_serialization",
    "symbolic_args_specs", "symbolic_shape",
]  # fmt: skip
