"""fc.jit: trace a function once for each signature and run it as one compiled program."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence

import numpy as np

from .. import xla
from ..core import tree
from ..core.graph import Graph, cse, dce
from ..core.lowering import lower
from ..core.trace import evaluate, outside_traces, run, state
from ..engine import Value, from_buffer, from_numpy, to_buffer, to_numpy
from ..engine.compiling import compile_graph
from ..engine.modes import settings
from ..engine.nans import check as check_nans
from ..engine.units import SCALAR_AVALS
from ..ops.op import fits
from .array import Array, _new, wrap
from .tracing import ShapeDtype, arguments, name_of, trace_function

Buffer = xla.Buffer

flatten = tree.registry.flatten

UNHASHABLE_STATIC = """jit of `{name}`: static argument {where} is {value!r:.60}, which is not hashable.
    Static arguments are part of the cache key: use a tuple instead of a list,
    or make the argument dynamic."""


NOT_AS_COMPILED = """the compiled `{name}` takes {wanted}; it was called with {found}.
    It is one program for one signature; call the jitted function itself for others."""


def listed(kinds: Sequence) -> str:
    """float32[3], float: the kinds of arguments in a message."""
    return ", ".join(k.__name__ if isinstance(k, type) else str(k) for k in kinds) or "nothing"


class Signature:
    """What one signature of a jitted function runs: its graph and, once called, its program."""

    __slots__ = ("graph", "captures", "kinds", "out_tree", "program", "out_avals", "device",
                 "donate", "single", "name")

    def __init__(self, traced, kinds: Sequence, donate: Sequence[int], name: str):
        self.kinds = tuple(kinds)  # of the arguments: avals, or float and int for Python numbers
        self.graph, self.captures = cse(dce(traced.graph)), traced.captures
        self.out_tree, self.donate, self.name = traced.out_tree, tuple(donate), name
        self.out_avals = self.graph.out_avals
        self.single = self.out_tree == tree.structure(0)
        self.program = self.device = None

    def compile(self, device=None):
        """The program, compiled at the first call."""
        self.device = device or xla.default_device()
        self.program = compile_graph(self.graph, self.device, donate=self.donate, asked=True,
                                     name=self.name,
                                     why=f"first call of jit({self.name}) with these avals")
        return self.program

    def __call__(self, values: Sequence[Value]):
        """The result for concrete values of this signature."""
        if settings.debug_nans:
            return self.checked(values)
        if not settings.direct:
            with outside_traces():
                outs = evaluate(self.graph, values)
            return self.out_tree.unflatten([wrap(from_numpy(o)) for o in outs])
        if self.program is None:
            self.compile(_device_of(values))
        return self.runner()([to_buffer(value, self.device) for value in values])

    def checked(self, values: Sequence[Value]):
        """The result, by the compiled program; FloatingPointError if it has a NaN."""
        program = self.program or self.compile(_device_of(values))
        args = [np.array(to_numpy(v)) for v in values]  # copies: an input may be donated
        outs = program([to_buffer(v, self.device) for v in values])
        check_nans(self.graph, self.name, args, outs)
        return self.out_tree.unflatten([wrap(from_buffer(b)) for b in outs])

    def runner(self) -> Callable:
        """The compiled program as a function of buffers that returns the result's tree."""
        program, out_avals, unflatten = self.program, self.out_avals, self.out_tree.unflatten

        def run(buffers):
            arrays = []
            for aval, buffer in zip(out_avals, program(buffers)):
                value = Value()
                value.aval, value.data, value.recording = aval, buffer, None
                array = _new(Array)
                array._value = value
                arrays.append(array)
            return unflatten(arrays)
        return run

    def entry(self) -> tuple:
        """What the hot path of a call needs: see Jitted.fast."""
        program = self.program
        if self.single and program.outputs is None and not program.hoisted:
            return *program.executable.raw, self.out_avals[0]
        return self.runner(), self.device, None


def _device_of(values):
    for value in values:
        data = getattr(value, "data", None)
        if isinstance(data, xla.Buffer):
            return xla.device_of(data)
    return xla.default_device()


class Jitted:
    """What is behind a function made by fc.jit: its signatures, and how a new one is made."""

    def __init__(self, fun: Callable, static: frozenset, static_names: frozenset,
                 donate: frozenset, donate_names: frozenset):
        self.fun, self.name = fun, name_of(fun)
        self.static, self.static_names = static, static_names
        self.donate, self.donate_names = donate, donate_names
        self.donates = bool(donate or donate_names)
        # kinds of bare arguments, or (structure, *kinds) -> (execute, its result handlers, aval)
        # if there is one output, (a function of buffers, their device, None) otherwise
        self.fast: dict[tuple, tuple] = {}
        self._signatures: dict[tuple, Signature] = {}

    def call(self, args, kwargs):
        """Any call: trace, compile or inline what is needed."""
        signature, values, treedef = self.signature(args, kwargs)
        if state.builder is not None:
            outs = run(signature.graph, [*values, *signature.captures])
            return signature.out_tree.unflatten([wrap(v) for v in outs])
        result = signature(values)
        if signature.program is not None and not self.static and not self.static_names:
            if not kwargs and all(a.__class__ is Array for a in args):
                self.fast[signature.kinds] = signature.entry()
            else:
                self.fast[treedef, *signature.kinds] = signature.runner(), signature.device, None
        return result

    def signature(self, args, kwargs, shapes: bool = False
                  ) -> tuple[Signature, list, tree.PyTreeDef]:
        """The signature of a call, its flat values, and their structure."""
        static, dynamic_args, dynamic_kwargs = self._split(args, kwargs)
        leaves, treedef = tree.flatten((dynamic_args, dynamic_kwargs))
        values, kinds = arguments(leaves, self.name, shapes)
        key = (static, treedef, tuple(kinds))
        signature = self._signatures.get(key)
        if signature is None:
            signature = self._trace(args, kwargs, treedef, kinds)
            if not signature.captures:  # otherwise it belongs to the enclosing trace alone
                self._signatures[key] = signature
        return signature, values, treedef

    def _split(self, args, kwargs):
        if not self.static and not self.static_names:
            return (), args, kwargs
        static = tuple((i, args[i]) for i in sorted(self.static) if i < len(args))
        static += tuple((k, kwargs[k]) for k in sorted(self.static_names) if k in kwargs)
        for where, value in static:
            try:
                hash(value)
            except TypeError:
                raise TypeError(UNHASHABLE_STATIC.format(name=self.name, where=where,
                                                         value=value)) from None
        return (static, tuple(a for i, a in enumerate(args) if i not in self.static),
                {k: v for k, v in kwargs.items() if k not in self.static_names})

    def _trace(self, args, kwargs, treedef, kinds) -> Signature:
        def fun(dynamic_args, dynamic_kwargs):
            full = list(dynamic_args)
            for i in sorted(self.static):
                if i < len(args):
                    full.insert(i, args[i])
            fixed = {k: kwargs[k] for k in self.static_names if k in kwargs}
            return self.fun(*full, **dynamic_kwargs, **fixed)
        fun.__name__ = self.name
        traced = trace_function(fun, treedef, kinds)
        return Signature(traced, kinds, self._donated(args, kwargs), self.name)

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
        return Lowered(self.signature(args, kwargs, shapes=True)[0])

    def clear_cache(self):
        """Forget every signature and its program."""
        self.fast.clear()
        self._signatures.clear()


class Lowered:
    """A traced and lowered function: look at it, or compile it."""

    def __init__(self, signature: Signature):
        self._signature = signature

    @property
    def graph(self) -> Graph:
        """The traced graph."""
        return self._signature.graph

    def as_text(self) -> str:
        """The StableHLO module."""
        return lower(self.graph, xla.default_device().platform).text

    def compile(self) -> Compiled:
        """The compiled program."""
        if self._signature.program is None:
            self._signature.compile()
        return Compiled(self._signature)


class Compiled:
    """A compiled function of one signature."""

    def __init__(self, signature: Signature):
        self._signature = signature

    def __call__(self, *args, **kwargs):
        values, kinds = arguments(tree.leaves((args, kwargs)), self._signature.name)
        if tuple(kinds) != self._signature.kinds:
            raise TypeError(NOT_AS_COMPILED.format(name=self._signature.name, found=listed(kinds),
                                                   wanted=listed(self._signature.kinds)))
        return self._signature(values)

    def cost_analysis(self) -> dict:
        """XLA's estimate of flops and bytes accessed."""
        return self._signature.program.executable.cost_analysis()

    def memory_analysis(self) -> dict:
        """Bytes of arguments, outputs and temporaries."""
        return self._signature.program.executable.memory_analysis()

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._signature.program.executable.hlo_text()


def jit(fun: Callable | None = None, *, static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (), donate_argnums: int | Sequence[int] = (),
        donate_argnames: str | Sequence[str] = ()) -> Callable:
    """Compile fun: it is traced once for each structure, shape and dtype of its arguments.

    static_argnums, static_argnames: arguments that are configuration, not arrays (hashable; each
    value is a signature of its own). donate_argnums, donate_argnames: arguments whose memory the
    results may take over; they cannot be used afterwards. `.lower(*args).compile()` gives the
    program without running it.

    >>> import functorch_core as fc
    >>> @fc.jit
    ... def f(x):
    ...     return fc.sin(x) ** 2
    >>> f(fc.asarray([0., 1.]))
    Array([0.       , 0.7080734], dtype=float32)
    """
    if fun is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames)
    if not callable(fun):
        raise TypeError(f"jit takes a function, got {type(fun).__name__}")
    nums, names = _resolve(fun, static_argnums, static_argnames)
    donated, donated_names = _resolve(fun, donate_argnums, donate_argnames)
    return _function_of(fun, Jitted(fun, nums, names, donated, donated_names))


def _function_of(fun: Callable, jitted: Jitted) -> Callable:
    """The user's function: a plain function (a call of one costs less than of an object)."""
    fast = jitted.fast

    @functools.wraps(fun, updated=())
    def call(*args, **kwargs):
        # The hot path, 0.7 us beside the execution: Arrays whose data are on the device.
        if state.builder is not None or not settings.direct:
            return jitted.call(args, kwargs)
        buffers, key, found = [], [], None
        try:
            for a in args:
                data = a._value.data
                if data.__class__ is not Buffer:
                    break
                buffers.append(data)
                key.append(a._value.aval)
            else:
                found = fast.get(tuple(key))
        except AttributeError:  # an argument that is no Array, or not computed yet
            pass
        if found is None or kwargs:
            return _call_on_trees(jitted, args, kwargs)
        execute, handlers, aval = found
        if aval is None:
            return execute(buffers)
        value = Value()
        try:
            value.data, = execute(buffers).consume_with_handlers(handlers)
        except RuntimeError as error:
            xla.fail(error)
        value.aval, value.recording = aval, None
        array = _new(Array)
        array._value = value
        return array

    call.lower, call.clear_cache, call._jitted = jitted.lower, jitted.clear_cache, jitted
    return call


def _call_on_trees(jitted: Jitted, args, kwargs):
    """A call with pytrees or keywords, whose leaves are Arrays with their data on the device."""
    leaves, structure = flatten((args, kwargs))
    buffers = None
    try:
        values = [a._value for a in leaves]
        buffers = [v.data for v in values]
        found = jitted.fast.get((structure, *[v.aval for v in values]))
    except AttributeError:
        pass
    if buffers is None:
        return _call_with_numbers(jitted, args, kwargs, leaves, structure)
    if found is None or {*map(type, buffers)} != ONLY_BUFFERS:
        return jitted.call(args, kwargs)
    return found[0](buffers)


ONLY_BUFFERS = {Buffer}


def _call_with_numbers(jitted: Jitted, args, kwargs, leaves, structure):
    """A call with Python numbers among the leaves, which are put on the device."""
    key, buffers, numbers = [structure], [], []
    for leaf in leaves:
        cls = leaf.__class__
        if cls is Array and leaf._value.__class__ is Value and leaf._value.recording is None:
            key.append(leaf._value.aval)
            buffers.append(leaf._value.data)
        elif cls in SCALAR_AVALS and fits(leaf):
            numbers.append(len(buffers))
            key.append(cls)
            buffers.append(leaf)
        else:
            return jitted.call(args, kwargs)
    found = jitted.fast.get(tuple(key))
    if found is None:
        return jitted.call(args, kwargs)
    execute, device, _ = found
    for i in numbers:
        x = buffers[i]
        make = _number_on_device if x and not jitted.donates else _number_on_device.__wrapped__
        buffers[i] = make(key[i + 1], x, device)  # 0.0 and -0.0 would be one key
    if {*map(type, buffers)} != ONLY_BUFFERS:
        return jitted.call(args, kwargs)
    return execute(buffers)


@functools.lru_cache(maxsize=256)
def _number_on_device(kind: type, x, device) -> Buffer:
    """A Python number as a buffer: that takes 4 us, and a step size is often the same."""
    return xla.put(np.asarray(x, SCALAR_AVALS[kind].dtype), device)


def _resolve(fun, nums, names) -> tuple[frozenset, frozenset]:
    """Argument numbers and names, each completed by the other through fun's signature."""
    nums = {nums} if isinstance(nums, int) else set(nums)
    names = {names} if isinstance(names, str) else set(names)
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return frozenset(nums), frozenset(names)
    positional = [p.name for p in parameters
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_number = {positional[i] for i in nums if -len(positional) <= i < len(positional)}
    by_name = {positional.index(n) for n in names if n in positional}
    nums = {i % len(positional) if i < 0 else i for i in nums}
    return frozenset(nums | by_name), frozenset(names | by_number)


def make_graph(fun: Callable) -> Callable:
    """A function that returns the graph fun is traced to, for these arguments.

    >>> import functorch_core as fc
    >>> fc.make_graph(lambda x: fc.sin(x) * x)(fc.asarray(1.))
    <lambda>(a: float32[]):
        b: float32[] = sin a
        c: float32[] = mul b a
        return c
    """
    @functools.wraps(fun)
    def wrapped(*args, **kwargs):
        leaves, treedef = tree.flatten((args, kwargs))
        _, kinds = arguments(leaves, name_of(fun), shapes=True)
        return trace_function(fun, treedef, kinds, keywords=True).graph
    return wrapped


def eval_shape(fun: Callable, *args, **kwargs):
    """The shapes and dtypes of fun's result, without computing it; arguments may be ShapeDtype.

    >>> import functorch_core as fc
    >>> fc.eval_shape(lambda x: x @ x.T, fc.ShapeDtype((3, 4), fc.float32))
    ShapeDtype(shape=(3, 3), dtype=float32)
    """
    leaves, treedef = tree.flatten((args, kwargs))
    _, kinds = arguments(leaves, name_of(fun), shapes=True)
    traced = trace_function(fun, treedef, kinds, keywords=True)
    return traced.out_tree.unflatten([ShapeDtype(a.shape, a.dtype)
                                      for a in traced.graph.out_avals])
