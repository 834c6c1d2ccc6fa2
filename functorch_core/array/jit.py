"""fc.jit: trace a function once for each signature and run it as one compiled program."""

from __future__ import annotations

import copy
import functools
import re
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from .. import xla
from ..core import tree
from ..core.aval import Aval
from ..core.explain import MISTAKES, as_function, explained, explaining, result_of
from ..core.graph import Graph, simplified
from ..core.lowering import lower
from ..core.trace import evaluate, open_traces, outside_traces, run, state
from ..engine import Value, flush, from_buffer, from_numpy, to_buffer, to_numpy
from ..engine.compiling import compile_graph
from ..engine.history import argument_difference
from ..engine.modes import settings
from ..engine.nans import check as check_nans
from ..engine.units import SCALAR_AVALS
from .array import Array, _new, array_of, wrap
from .calls import MAX_KNOWN, MISSED, failed, known_call
from .sharding import OnMesh, meshes_in
from .tracing import ShapeDtype, arguments, name_of, refuse, resolve_arguments, shown_tree, trace_function

Buffer = xla.Buffer

UNHASHABLE_STATIC = """jit of `{name}`: static argument {where} is {value!r:.60}, which is not hashable.
    Static arguments are part of the cache key: use a tuple instead of a list,
    or make the argument dynamic."""


NOT_AS_COMPILED = """the compiled `{name}` takes {wanted}; it was called with {found}.
    It is one program for one signature; call the jitted function itself for others."""


def listed(kinds: Sequence) -> str:
    """float32[3], float: the kinds of arguments in a message."""
    return ", ".join(k.__name__ if isinstance(k, type) else str(k) for k in kinds) or "nothing"


class Followed(TypeError):
    """An argument has a history that this face does not know: PyTorch's tape, or a transform of torch.func."""

    def through(self, jitted: Jitted, args: tuple, kwargs: dict):
        """The result of a jitted function as a step of that history."""
        raise self


class Signature:
    """What one signature of a jitted function runs: its graph and, once called, its program."""

    __slots__ = (
        "graph",
        "captures",
        "kinds",
        "in_tree",
        "out_tree",
        "program",
        "out_avals",
        "device",
        "elsewhere",
        "donate",
        "single",
        "name",
        "calls",
        "noted",
        "mesh",
        "why",
        "waits",
    )

    def __init__(self, traced, in_tree: tree.PyTreeDef, kinds: Sequence, donate: Sequence[int], name: str):
        self.in_tree = in_tree  # of (positional, keyword) arguments without the static ones
        self.kinds = tuple(kinds)  # of the arguments: avals, or float and int for Python numbers
        self.graph, self.captures = simplified(traced.graph), traced.captures
        self.out_tree, self.donate, self.name = traced.out_tree, tuple(donate), name
        self.out_avals = self.graph.out_avals
        self.mesh = meshes_in(self.graph)  # that its constraints name
        self.single = self.out_tree == tree.structure(0)
        self.program = self.device = None
        self.elsewhere: dict[object, Signature] = {}  # the same graph for other devices
        self.calls = 0  # that were not known
        self.waits = False  # whether calls end before its results are there
        self.why = f"first call of jit({name}) with these avals"
        self.noted: list = []  # tensors it closes over, whose numbers are in the graph: (tensor, its value)

    def on(self, device) -> Signature:
        """What runs on a device: this, or its like whose program is compiled for that device."""
        if self.device is None or self.device is device:
            return self
        if device not in self.elsewhere:
            other = self.elsewhere[device] = copy.copy(self)
            other.program, other.device, other.calls, other.elsewhere, other.waits = None, device, 0, {}, False
            other.why = f"first call of jit({self.name}) with data on {device}"
        return self.elsewhere[device]

    def compile(self, device=None):
        """The program, compiled at the first call."""
        self.device = device or xla.default_device()
        self.program = compile_graph(
            self.graph, self.device, donate=self.donate, asked=True, name=self.name, why=self.why
        )
        return self.program

    def __call__(self, values: Sequence[Value]):
        """The result for concrete values of this signature."""
        if settings.debug_nans:
            return self.checked(values)
        if not settings.direct and not (settings.watch and settings.runs_programs()):
            with outside_traces():
                outs = evaluate(self.graph, values)
            return self.out_tree.unflatten([wrap(from_numpy(o)) for o in outs])
        if self.program is None:
            self.compile(device_of(values))
        return self.result([to_buffer(value, self.device) for value in values])

    def checked(self, values: Sequence[Value]):
        """The result, by the compiled program; FloatingPointError if it has a NaN."""
        program = self.program or self.compile(device_of(values))
        args = [np.array(to_numpy(v)) for v in values]  # copies: an input may be donated
        outs = program([to_buffer(v, self.device) for v in values])
        check_nans(self.graph, self.name, args, outs)
        return self.out_tree.unflatten([wrap(from_buffer(b)) for b in outs])

    def result(self, buffers: Sequence):
        """The function's result of the program's arguments."""
        if settings.watch is not None:
            outs = settings.watch.run(self.program, buffers, self.name)
        else:
            outs = self.program(buffers)
        return self.out_tree.unflatten(list(map(array_of, self.out_avals, outs)))

    @property
    def direct(self) -> bool:
        """Whether the program's result is the function's: one bare Array."""
        program = self.program
        return self.single and program.outputs is None and not program.hoisted


def is_stale(noted: Sequence) -> bool:
    """Whether a tensor has been written to since its value was noted."""
    return any([tensor._read() is not value for tensor, value in noted])


def note(noted: Sequence):
    """Let the traces that are going on know of tensors that an inner function closes over."""
    builder = state.builder
    while builder is not None:
        if builder.noted is not None:
            builder.noted.update({id(entry[0]): entry for entry in noted})
        builder = builder.parent


def device_of(values: Sequence[Value]):
    """The device that values ask for: one that is not the default, if any lies on one."""
    default = xla.default_device()
    for value in values:
        data = getattr(value, "data", None)
        if isinstance(data, xla.Buffer) and (device := xla.device_of(data)) is not default:
            return device
    return default


functions: weakref.WeakSet[Jitted] = weakref.WeakSet()  # all that fc.jit made


class Jitted:
    """What is behind a function made by fc.jit: its signatures, and how a new one is made."""

    disabled = False  # see fc.disable_jit, which also sees to it that calls come here

    def __init__(
        self,
        fun: Callable,
        static: frozenset,
        static_names: frozenset,
        donate: frozenset,
        donate_names: frozenset,
        on_mesh: OnMesh | None = None,
    ):
        self.fun, self.name = fun, name_of(fun)
        self.static, self.static_names = static, static_names
        self.donate, self.donate_names = donate, donate_names
        self.donates = bool(donate or donate_names)
        self.on_mesh = on_mesh or OnMesh(None, None)
        settings.donates |= self.donates
        # avals of one or two Arrays -> (execute, its result handlers, aval of the only result)
        self.fast: dict[Aval | tuple[Aval, Aval], tuple] = {}
        self.fast_on: dict[tuple[Aval, ...], object] = {}  # the device of each, the last that was called on
        self.known: list[Callable] = []  # other calls, see known_call
        self._signatures: dict[tuple, Signature] = {}
        self.followed: dict[tuple, object] = {}  # kept for `Followed.through`

    def call(self, args, kwargs):
        """Any call: trace, compile or inline what is needed."""
        if Jitted.disabled:
            return self.fun(*args, **kwargs)
        try:
            return self._call(args, kwargs)
        except Followed as error:
            return error.through(self, args, kwargs)
        except MISTAKES as error:
            raise explained(error, lambda: as_function(f"fc.jit({self.name})", args, kwargs), fun=self.fun)

    def _call(self, args, kwargs):
        signature, leaves, values, treedef = self.signature(args, kwargs)
        if state.builder is not None:
            if signature.noted:
                note(signature.noted)
            outs = self.on_mesh.constrained(
                signature, values, lambda values: run(signature.graph, [*values, *signature.captures])
            )
            return signature.out_tree.unflatten([wrap(v) for v in outs])
        mesh = self.on_mesh.mesh_for(signature, values)
        if mesh is not None:
            return self.on_mesh.call(signature, mesh, values)
        if not xla.in_forked_child():  # there it is computed by NumPy
            signature = signature.on(device_of(values))
        result = signature(values)
        if signature.program is not None and settings.direct and not signature.noted:
            self._remember(signature, args, kwargs, leaves, treedef)
        return result

    def _remember(self, signature: Signature, args, kwargs, leaves, treedef):
        """Let the next call like this one be quick."""
        for leaf in leaves:
            if leaf.__class__ is Array and leaf._value.data.__class__ is Buffer:
                leaf._data = leaf._value.data
        if (
            len(args) in (1, 2)
            and not kwargs
            and not self.static
            and signature.direct
            and all(a.__class__ is Array for a in args)
        ):
            kinds = signature.kinds
            self.fast_on[kinds] = signature.device
            self.fast[kinds if len(kinds) == 2 else kinds[0]] = (
                *signature.program.executable.raw,
                signature.out_avals[0],
            )
            return
        signature.calls += 1
        if signature.calls < 2:  # writing it takes 0.5 ms at 50 leaves
            return
        known = known_call(args, kwargs, leaves, treedef, self, signature)
        self.known[:] = [known, *self.known[: MAX_KNOWN - 1]]

    def call_known(self, args, kwargs):
        """A call that may be a known one."""
        for known in self.known:
            result = known(args, kwargs)
            if result is not MISSED:
                return result
        return self.call(args, kwargs)

    def failed(self, args, buffers, error: Exception):
        """The result of a quick call that failed: data on the host or elsewhere are moved first."""
        found = failed(self.fast_on[tuple([a.aval for a in args])], buffers, error)
        return self.call(args, {}) if found is MISSED else found

    def signature(self, args, kwargs, shapes: bool = False) -> tuple[Signature, list, list, tree.PyTreeDef]:
        """The signature of a call, its leaves, their values, and their structure."""
        static, dynamic_args, dynamic_kwargs = self._split(args, kwargs)
        leaves, treedef = tree.flatten((dynamic_args, dynamic_kwargs))
        values, kinds = arguments(leaves, self.name, shapes)
        key = (static, treedef, tuple(kinds), *settings.contexts)
        signature = self._signatures.get(key)
        if signature is None or signature.noted and is_stale(signature.noted):
            signature = self._trace(args, kwargs, treedef, kinds)
            if not signature.captures:  # otherwise it belongs to the enclosing trace alone
                self._signatures[key] = signature
        return signature, leaves, values, treedef

    def _split(self, args, kwargs):
        if not self.static and not self.static_names:
            return (), args, kwargs
        static = tuple((i, args[i], args[i].__class__) for i in sorted(self.static) if i < len(args))
        static += tuple((k, kwargs[k], kwargs[k].__class__) for k in sorted(self.static_names) if k in kwargs)
        for where, value, _ in static:
            try:
                hash(value)
            except TypeError:
                raise TypeError(UNHASHABLE_STATIC.format(name=self.name, where=where, value=value)) from None
        return (
            static,
            tuple(a for i, a in enumerate(args) if i not in self.static),
            {k: v for k, v in kwargs.items() if k not in self.static_names},
        )

    def _trace(self, args, kwargs, treedef, kinds) -> Signature:
        def fun(dynamic_args, dynamic_kwargs):
            full = list(dynamic_args)
            for i in sorted(self.static):
                if i < len(args):
                    full.insert(i, args[i])
            fixed = {k: kwargs[k] for k in self.static_names if k in kwargs}
            return self.fun(*full, **dynamic_kwargs, **fixed)

        fun.__name__, fun._traces = self.name, self.fun
        fun._positions = [i for i in range(len(args)) if i not in self.static]
        noted: dict = {}
        traced = trace_function(fun, treedef, kinds, noted=noted)
        signature = Signature(traced, treedef, kinds, self._donated(args, kwargs), self.name)
        signature.noted = list(noted.values())
        if self._signatures:
            last = next(reversed(self._signatures.values()))
            signature.why = argument_difference(self.name, last.kinds, signature.kinds)
        return signature

    def _donated(self, args, kwargs) -> list[int]:
        """The flat positions of donated arguments."""
        flags = []
        for i, a in enumerate(args):
            if i not in self.static:
                flags += [i in self.donate] * len(tree.leaves(a))
        for k in sorted(kwargs):
            if k not in self.static_names:
                flags += [k in self.donate_names] * len(tree.leaves(kwargs[k]))
        return [i for i, donated in enumerate(flags) if donated]

    def lower(self, *args, **kwargs) -> Lowered:
        """Trace and lower for these arguments: arrays, numbers, or fc.ShapeDtype in their place."""
        try:
            return Lowered(self.signature(args, kwargs, shapes=True)[0])
        except MISTAKES as error:
            raise explained(error, lambda: as_function(f"fc.jit({self.name}).lower", args, kwargs))

    def trace(self, *args, **kwargs) -> TracedStage:
        """Trace for these arguments; see lower."""
        return TracedStage(self.lower(*args, **kwargs)._signature)

    def eval_shape(self, *args, **kwargs):
        """The shapes and dtypes of the result; see lower."""
        return self.lower(*args, **kwargs).out_info

    def clear_cache(self):
        """Forget every signature and its program."""
        self.fast.clear()
        self.fast_on.clear()
        self.known.clear()
        self._signatures.clear()
        self.followed.clear()


class Stage:
    """What jit's stages tell of the function: its trees, and the shapes of arguments and results."""

    def __init__(self, signature: Signature):
        self._signature = signature

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._signature.name

    @property
    def in_tree(self) -> tree.PyTreeDef:
        """The structure of (arguments, keyword arguments)."""
        return self._signature.in_tree

    @property
    def out_tree(self) -> tree.PyTreeDef:
        """The structure of the result."""
        return self._signature.out_tree

    @property
    def in_avals(self):
        """Shape and dtype of each argument, in their structure."""
        avals = [SCALAR_AVALS.get(k, k) for k in self._signature.kinds]
        return self.in_tree.unflatten([ShapeDtype(a.shape, a.dtype) for a in avals])

    args_info = in_avals

    @property
    def out_info(self):
        """Shape and dtype of each result, in their structure."""
        return self.out_tree.unflatten([ShapeDtype(a.shape, a.dtype) for a in self._signature.out_avals])

    out_avals = out_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The flat positions of donated arguments."""
        return self._signature.donate


class TracedStage(Stage):
    """A traced function: its graph, and what comes next."""

    @property
    def jaxpr(self) -> Graph:
        """The graph."""
        return self._signature.graph

    def lower(self) -> Lowered:
        """The lowered function."""
        return Lowered(self._signature)


class Lowered(Stage):
    """A traced and lowered function: look at it, or compile it."""

    @property
    def graph(self) -> Graph:
        """The traced graph."""
        return self._signature.graph

    def as_text(self, dialect: str | None = None, *, debug_info: bool = True) -> str:
        """The StableHLO module, or its HLO (dialect "hlo"), with the user's lines or without them."""
        text = lower(self.graph, xla.default_device().platform).text
        if dialect == "hlo":
            return self.compile().as_text()
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"as_text: dialect is 'stablehlo' or 'hlo', got {dialect!r}")
        return text if debug_info else re.sub(r"( loc\(#loc\d+\)|^#loc\d+ = .*\n)", "", text, flags=re.MULTILINE)

    def compiler_ir(self, dialect: str | None = None) -> str:
        """The text that as_text gives."""
        return self.as_text(dialect)

    def cost_analysis(self) -> dict:
        """XLA's estimate of flops and bytes accessed."""
        return self.compile().cost_analysis()

    def compile(self) -> Compiled:
        """The compiled program."""
        if self._signature.program is None:
            self._signature.compile()
        return Compiled(self._signature)


class Compiled(Stage):
    """A compiled function of one signature."""

    def __call__(self, *args, **kwargs):
        leaves, in_tree = tree.flatten((args, kwargs))
        values, kinds = arguments(leaves, self._signature.name)
        wanted = self._signature
        if not tree.alike(in_tree, wanted.in_tree) or tuple(kinds) != wanted.kinds:
            name = wanted.name
            shown = [
                f"{listed(k)} in {shown_tree(t)}" if in_tree != wanted.in_tree else listed(k)
                for k, t in ((kinds, in_tree), (wanted.kinds, wanted.in_tree))
            ]
            error = TypeError(NOT_AS_COMPILED.format(name=name, found=shown[0], wanted=shown[1]))
            how = f"fc.jit({name}).lower(...).compile()"
            raise explained(error, lambda: as_function(how, args, kwargs))
        return self._signature(values)

    def cost_analysis(self) -> dict:
        """XLA's estimate of flops and bytes accessed."""
        return self._signature.program.executable.cost_analysis()

    def memory_analysis(self) -> dict:
        """Bytes of arguments, outputs and temporaries."""
        return self._signature.program.executable.memory_analysis()

    @property
    def input_shardings(self):
        """(of the arguments, of those by name): where they lie, all on one device."""
        return self._signature.in_tree.unflatten([self._place()] * len(self._signature.kinds))

    @property
    def output_shardings(self):
        """Where the results lie."""
        return self._signature.out_tree.unflatten([self._place()] * len(self._signature.out_avals))

    def _place(self):
        return xla.SingleDeviceSharding(self._signature.program.executable.device)

    def runtime_executable(self):
        """The program."""
        return self._signature.program.executable

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._signature.program.executable.hlo_text()


@explaining
def jit(
    fun: Callable | None = None,
    /,
    *,
    in_shardings=None,
    out_shardings=None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device=None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict | None = None,
) -> Callable:
    """Compile fun: it is traced once for each structure, shape and dtype of its arguments.

    static_argnums, static_argnames: arguments that are configuration, not arrays (hashable; each
    value is a signature of its own). donate_argnums, donate_argnames: arguments whose memory the
    results may take over; they cannot be used afterwards. `.lower(*args).compile()` gives the
    program without running it.

    Arguments that are not used stay parameters of the program and inner functions are inlined,
    whatever keep_unused and inline say. device, backend and compiler_options are JAX's, and not
    supported: NotImplementedError.

    A function of arrays that lie on several devices is a program for all of them. in_shardings,
    out_shardings: NamedShardings for the arguments and results, or prefixes of their trees; None
    leaves an argument as it lies, a result to the partitioner.

    >>> import functorch_core as fc
    >>> @fc.jit
    ... def f(x):
    ...     return fc.sin(x) ** 2
    >>> f(fc.asarray([0., 1.]))
    Array([0.       , 0.7080734], dtype=float32)
    """
    refuse("jit", "A function runs where its arguments are: fc.asarray(x, device=...).", device=device, backend=backend)
    refuse("jit", "The options are chosen by the library, by what was measured.", compiler_options=compiler_options)
    if fun is None:
        return functools.partial(
            jit,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
        )
    if not callable(fun):
        name_of(fun)  # raises
    nums, names = resolve_arguments(fun, static_argnums, static_argnames)
    donated, donated_names = resolve_arguments(fun, donate_argnums, donate_argnames)
    if both := sorted(nums & donated) or sorted(names & donated_names):
        raise ValueError(
            f"jit of `{name_of(fun)}`: argument {both[0]!r} is static and donated; static ones have no memory"
        )
    on_mesh = OnMesh(in_shardings, out_shardings)
    return _function_of(fun, Jitted(fun, nums, names, donated, donated_names, on_mesh))


def _function_of(fun: Callable, jitted: Jitted) -> Callable:
    """The user's function: a plain function (a call of one costs less than of an object)."""
    fast, call_known = jitted.fast, jitted.call_known

    @functools.wraps(fun, updated=())
    def call(*args, **kwargs):
        # The hot path, 0.5 us beside the execution: one or two Arrays with data on the device.
        if open_traces and state.builder is not None or not settings.direct:
            return jitted.call(args, kwargs)
        if not fast or kwargs:
            return call_known(args, kwargs)
        try:
            if len(args) == 2:
                a, b = args
                execute, handlers, aval = fast[a.aval, b.aval]
                buffers = a._data, b._data
            else:
                (a,) = args
                execute, handlers, aval = fast[a.aval]
                buffers = (a._data,)
        except (AttributeError, KeyError, ValueError):  # another call, or not computed yet
            return call_known(args, kwargs)
        try:
            array = _new(Array)
            (array._data,) = execute(buffers).consume_with_handlers(handlers)
        except (RuntimeError, TypeError) as error:
            return jitted.failed(args, buffers, error)
        array.aval = aval
        return array

    if jitted.donates:
        call = _after_readers(call)
    call.lower, call.clear_cache, call._jitted = jitted.lower, jitted.clear_cache, jitted
    call.trace, call.eval_shape = jitted.trace, jitted.eval_shape
    functions.add(jitted)
    return call


def _after_readers(call: Callable) -> Callable:
    """A function that donates: what is recorded may read that memory, so it is computed first."""

    @functools.wraps(call)
    def donating(*args, **kwargs):
        if state.builder is None:
            flush("memory is given away")
        return call(*args, **kwargs)

    return donating


@explaining
def make_graph(fun: Callable) -> Callable:
    """A function that returns the graph fun is traced to, for these arguments.

    >>> import functorch_core as fc
    >>> fc.make_graph(lambda x: fc.sin(x) * x)(fc.asarray(1.))
    <lambda>(a: float32[]):
        b: float32[] = sin a
        c: float32[] = mul b a
        return c
    """

    @result_of(make_graph, fun)
    def wrapped(*args, **kwargs):
        leaves, treedef = tree.flatten((args, kwargs))
        _, kinds = arguments(leaves, name_of(fun), shapes=True)
        return trace_function(fun, treedef, kinds, keywords=True).graph

    return wrapped


@explaining
def eval_shape(fun: Callable, *args, **kwargs):
    """The shapes and dtypes of fun's result, without computing it; arguments may be ShapeDtype.

    >>> import functorch_core as fc
    >>> fc.eval_shape(lambda x: x @ x.T, fc.ShapeDtype((3, 4), fc.float32))
    ShapeDtype(shape=(3, 3), dtype=float32)
    """
    leaves, treedef = tree.flatten((args, kwargs))
    _, kinds = arguments(leaves, name_of(fun), shapes=True)
    traced = trace_function(fun, treedef, kinds, keywords=True)
    return traced.out_tree.unflatten([ShapeDtype(a.shape, a.dtype) for a in traced.graph.out_avals])
