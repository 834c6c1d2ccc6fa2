"""jax.export: compiled functions as StableHLO, for other processes and other runtimes.

    exported = export.export(fc.jit(f))(fc.ShapeDtypeStruct((3,), fc.float32))
    open("f.bin", "wb").write(exported.serialize())
    ...
    export.deserialize(open("f.bin", "rb").read()).call(x)

`mlir_module_serialized` is a portable artifact of StableHLO, which any runtime for it loads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

import functorch_core as fc

from . import xla
from .array import saving
from .array.array import wrap
from .array.compose import missing_name
from .array.jit import Jitted, Lowered, listed
from .array.saving import kind_data, kind_of_data, packed, structure_of, tree_data, unpacked
from .array.tracing import arguments, numbers_as, shown_tree
from .core import tree
from .core.explain import explaining
from .core.graph import Graph, subgraphs
from .core.lowering import lower
from .core.trace import run, state
from .engine import from_buffer, to_buffer
from .engine.units import SCALAR_AVALS

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


def _specs(exported: Exported) -> list:
    return [fc.ShapeDtype(a.shape, a.dtype) for a in (*exported.in_avals, *exported.out_avals)]


def _text(artifact: bytes) -> str:
    from .xla.mlir import module_text

    return module_text(artifact)


def _artifact(graph: Graph, platform: str) -> bytes:
    from .xla.mlir import portable_artifact

    return portable_artifact(lower(graph, platform, inline=float("inf")).text)


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
    jitted = getattr(fun_jit, "_jitted", None)
    if not isinstance(jitted, Jitted):
        raise ValueError(NOT_JITTED.format(kind=getattr(fun_jit, "__name__", type(fun_jit).__name__)))
    names = [default_export_platform()] if platforms is None else [{"gpu": "cuda"}.get(p, p) for p in platforms]

    def exporting(*args, **kwargs) -> Exported:
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
def deserialize(blob: bytes) -> Exported:
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
    """Whether a size is a symbol: never, shapes are numbers.

    >>> import functorch_core as fc
    >>> fc.export.is_symbolic_dim(3)
    False
    """
    return False


__getattr__ = missing_name(
    "export",
    {
        "symbolic_shape": "Shapes are numbers: export the function once for each shape, or pad to one.",
        "symbolic_args_specs": "Shapes are numbers: give fc.ShapeDtypeStruct((3, 4), fc.float32) for each argument.",
        "SymbolicScope": "Shapes are numbers, and there are no symbols with constraints between them.",
    },
)

__all__ = [
    "DisabledSafetyCheck", "Exported", "default_export_platform", "deserialize", "export", "is_symbolic_dim",
    "maximum_supported_calling_convention_version", "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization", "register_pytree_node_serialization",
]  # fmt: skip
