"""Known calls: how a jitted function is called again with arguments like earlier ones.

A call is known by what it was: the containers, the avals of the arrays in them, the classes of the
numbers, the values of static arguments. For each such signature a function is written, in Python,
that reads the buffers out of the arguments and runs the program, or says that the call is another.
For a dict of 50 arrays reading takes 2.5 us; by the general registry, which sorts the keys, and
with a look-up by structure and avals it took 9.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from .. import xla
from ..core.aval import Aval
from ..core.tree import PyTreeDef, flatten
from ..engine.units import SCALAR_AVALS
from ..ops.signature import fits
from .array import Array, array_of

MAX_KNOWN = 8  # signatures a function is tried for, most recent first
MAX_WRITTEN = 500  # leaves; for larger containers the registry is as good
MAX_SHARED = 1 << 16  # bytes of a call's NumPy arrays that are copied into shared memory
MAX_PLACES = 16  # pieces of shared memory made for a known call; so many are missing only if its programs take long
GETTER = 4  # from so many leaves in a dict on, itemgetter is quicker than subscripts
UNROLLED = 16  # up to so many leaves, comprehensions (functions of their own) cost more

PLAIN = (np.ndarray, bool, int, float, complex)  # what can be assigned to elements of an array

MISSED = object()  # what a known call returns if the call is another

KNOWN_CALL = """
def call(args, kwargs):
    try:
        {read}
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        return MISSED
    try:
        {outs} = {run}
    except (RuntimeError, TypeError) as error:
        return failed(buffers, error)
    {wrap}
    return {result}
"""
TAKE = "place = free.pop() if free else new()"
GIVE_BACK = "if r0.is_ready(): free.append(place)"  # all results are computed at once


def known_call(args: tuple, kwargs: dict, leaves: Sequence, structure: PyTreeDef, jitted, signature) -> Callable:
    """A function of (args, kwargs): the result of a call like this one, MISSED for others.

    `structure` is that of the dynamic arguments: (a tuple of them, a dict by keyword).
    """
    device, kinds = signature.device, signature.kinds
    writer = _Writer()
    places = writer.arguments(args, kwargs, structure, jitted.static, jitted.static_names)
    hosts = {i: (x.__class__, kind) for i, (x, kind) in enumerate(zip(leaves, kinds)) if x.__class__ is not Array}
    avals = [k for k, x in zip(kinds, leaves) if x.__class__ is Array]
    shared = None if jitted.donates else shared_places(hosts.values(), signature)
    if shared:
        leaf = writer.share(hosts, shared)
    else:
        leaf = writer.put({i: host_leaf(*host, device, cached=not jitted.donates) for i, host in hosts.items()})
    writer.buffers(places, avals, hosts, leaf)
    read, writer.lines = writer.lines, []
    outs, result = writer.results(signature.out_tree, signature.out_avals)
    source = KNOWN_CALL.format(
        read="\n        ".join(read),
        run=writer.run(signature.program),
        outs=outs,
        wrap="\n    ".join([*writer.lines, *([GIVE_BACK] if shared else [])]),
        result=result,
    )
    writer.names["failed"] = functools.partial(failed, device)
    exec(compile(source, "<functorch_core>", "exec"), writer.names)
    return writer.names["call"]


def failed(device, buffers: Sequence, error: Exception):
    """After a failure: MISSED if data have to be moved first, the error otherwise."""
    if not all_on(device, buffers):
        return MISSED
    if isinstance(error, xla.RuntimeFailure):
        xla.fail(error, device.platform)
    raise error


def all_on(device, buffers: Sequence) -> bool:
    """Whether all data are on a device. (Deleted buffers are where they were.)"""
    return all(b.__class__ is xla.Buffer and xla.device_of(b) is device for b in buffers)


class _Writer:
    """The source of a known call, and the objects it names."""

    def __init__(self):
        self.lines: list[str] = []
        self.names: dict[str, object] = {"MISSED": MISSED}
        self.writes: list[str] = []  # to shared memory

    def name(self, value) -> str:
        """A name for a constant."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def require(self, condition: str):
        """A line that gives up unless the condition holds."""
        self.lines.append(f"if not ({condition}): return MISSED")

    def variable(self, expression: str) -> str:
        """A line that keeps the value of an expression; its name."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def arguments(self, args, kwargs, structure: PyTreeDef, static: frozenset, static_names: frozenset) -> list[str]:
        """Lines that check the arguments; expressions for the leaves."""
        self.require(f"len(args) == {len(args)} and len(kwargs) == {len(kwargs)}")
        fixed = {f"args[{i}]": args[i] for i in static if i < len(args)}
        fixed |= {f"kwargs[{k!r}]": kwargs[k] for k in static_names if k in kwargs}
        for place, value in fixed.items():
            cls, wanted = self.name(value.__class__), self.name(value)
            self.require(f"{place}.__class__ is {cls} and {place} == {wanted}")
        by_position, by_name = structure.children()
        places = [f"args[{i}]" for i in range(len(args)) if i not in static]
        places += [f"kwargs[{k!r}]" for k in by_name.node_data()[1]]
        children = [*by_position.children(), *by_name.children()]
        return [leaf for child, place in zip(children, places, strict=True) for leaf in self.leaves(child, place)]

    def leaves(self, structure: PyTreeDef, place: str) -> list[str]:
        """Lines that check a container; expressions for its leaves."""
        if structure.node_data() is None:
            return [place]
        kind, keys = structure.node_data()
        children = structure.children()
        if kind is type(None):
            self.require(f"{place} is None")
            return []
        sequence = issubclass(kind, (tuple, list)) and keys is None
        if structure.num_leaves > MAX_WRITTEN or not sequence and kind is not dict:
            return self.by_registry(structure, place)
        node = self.variable(place)
        self.require(f"{node}.__class__ is {self.name(kind)} and len({node}) == {len(children)}")
        if all(child.node_data() is None for child in children):
            if sequence:
                return [f"*{node}"]
            if len(keys) >= GETTER:
                return [f"*{self.name(operator.itemgetter(*keys))}({node})"]
        parts = range(len(children)) if sequence else map(self.name, keys)
        return [leaf for child, part in zip(children, parts) for leaf in self.leaves(child, f"{node}[{part}]")]

    def by_registry(self, structure: PyTreeDef, place: str) -> list[str]:
        """Lines that flatten a container by the registry; expressions for its leaves."""
        both = self.variable(f"{self.name(flatten)}({place})")
        self.require(f"{both}[1] == {self.name(structure)}")
        return [f"*{both}[0]"]

    def put(self, putters: dict[int, Callable]) -> Callable:
        """How a leaf of the host becomes a buffer: by a transfer."""
        return lambda i, leaf: f"{self.name(putters[i])}({leaf})"

    def share(self, hosts: dict[int, tuple[type, Aval | type]], places: Places) -> Callable:
        """How a leaf of the host becomes a buffer: it is written to memory that a buffer shares."""
        self.names.update(free=places.free, new=places.new)
        order = {i: k for k, i in enumerate(hosts)}

        def written(i: int, leaf: str) -> str:
            cls, kind = hosts[i]
            self.require(f"{leaf}.__class__ is {self.name(cls)}")
            if cls is np.ndarray:
                self.require(f"{leaf}.dtype == {self.name(kind.dtype)} and {leaf}.shape == {kind.shape}")
            self.writes.append(f"place[{order[i]}][0][...] = {leaf}")
            return f"place[{order[i]}][1]"

        return written

    def buffers(self, places: list[str], avals: list[Aval], hosts: Collection[int], buffer: Callable):
        """Lines that check the leaves and make the list of buffers; `buffer` gives that of a leaf of the host."""
        if len(places) <= UNROLLED and not any(p.startswith("*") for p in places):
            return self._unrolled(places, avals, hosts, buffer)
        self.lines.append(f"leaves = [{', '.join(places)}]")
        found = [(i, self.variable(f"leaves.pop({i})")) for i in sorted(hosts, reverse=True)]
        self.require(f"[x.aval for x in leaves] == {self.name(avals)}")
        self.lines.append("buffers = [x._data for x in leaves]")
        inserts = [f"buffers.insert({i}, {buffer(i, host)})" for i, host in reversed(found)]
        self.lines += [*self.taken(), *inserts]

    def _unrolled(self, places, avals, hosts, buffer):
        wanted, buffers = iter(avals), []
        for i, place in enumerate(places):
            leaf = self.variable(place)
            if i not in hosts:
                self.require(f"{leaf}.aval is {self.name(next(wanted))}")
            buffers.append(buffer(i, leaf) if i in hosts else f"{leaf}._data")
        self.lines += [*self.taken(), f"buffers = [{', '.join(buffers)}]"]

    def taken(self) -> list[str]:
        """Lines that take shared memory and write to it, when all is known to fit."""
        return [TAKE, *self.writes] if self.writes else []

    def run(self, program) -> str:
        """The expression that runs a program on `buffers`."""
        if program.outputs is not None or program.hoisted:
            return f"{self.name(program)}(buffers)"
        execute, handlers = program.executable.raw
        return f"{self.name(execute)}(buffers).consume_with_handlers({self.name(handlers)})"

    def results(self, structure: PyTreeDef, avals: Sequence[Aval]) -> tuple[str, str]:
        """Where the program's results go, lines that make Arrays of them, and the whole result."""
        if len(avals) > MAX_WRITTEN:
            arrays = self.variable(f"list(map({self.name(array_of)}, {self.name(avals)}, outs))")
            return "outs", f"{self.name(structure)}.unflatten({arrays})"
        new, array = self.name(object.__new__), self.name(Array)
        for i, aval in enumerate(avals):
            self.lines.append(f"x{i} = {new}({array}); x{i}.aval = {self.name(aval)}; x{i}._data = r{i}")
        outs = "".join(f"r{i}, " for i in range(len(avals)))
        return f"({outs})", self.rebuilt(structure, iter(range(len(avals))))

    def rebuilt(self, structure: PyTreeDef, numbers: Iterator[int]) -> str:
        """An expression for a container of the next results."""
        if structure.node_data() is None:
            return f"x{next(numbers)}"
        kind, keys = structure.node_data()
        if kind not in (tuple, list, dict, type(None)):
            leaves = "".join(f"x{next(numbers)}, " for _ in range(structure.num_leaves))
            return f"{self.name(structure)}.unflatten([{leaves}])"
        parts = [self.rebuilt(child, numbers) for child in structure.children()]
        if kind is dict:
            keys = [repr(k) if k.__class__ is str else self.name(k) for k in keys]
            return "{" + ", ".join(map("{}: {}".format, keys, parts)) + "}"
        inner = "".join(f"{part}, " for part in parts)
        return {tuple: f"({inner})", list: f"[{inner}]"}.get(kind, "None")


# ---- leaves that are not Arrays ------------------------------------------------------------------


def shared_places(hosts: Collection[tuple[type, Aval | type]], signature) -> Places | None:
    """Shared memory for leaves of the host, given as class and kind; None if they have to be transferred."""
    program, avals = signature.program, [SCALAR_AVALS.get(kind, kind) for _, kind in hosts]
    if (
        signature.waits
        or not hosts
        or program.outputs is not None  # an argument may be a result
        or not 0 < len(signature.out_avals) <= MAX_WRITTEN
        or not all(cls in PLAIN or issubclass(cls, np.generic) for cls, _ in hosts)
        or sum(aval.nbytes for aval in avals) > MAX_SHARED
    ):
        return None
    places = Places(avals, signature)
    return places if places.free else None


class Places:
    """Memory that a program's parameters share with NumPy arrays, for the numbers and NumPy arrays of a call.

    Writing there takes 0.1 us, putting data on a device 2.6 and more. A call takes a place for itself; it gives it
    back if its results are there, as then the program has read it, and leaves it to the buffers otherwise. A program
    that is still running whenever its call ends would have a new place each time: it `waits`, and gets its arguments
    by transfers.
    """

    def __init__(self, avals: Sequence[Aval], signature):
        self.avals, self.signature, self.made = avals, signature, 0
        first = self.place()
        self.free: list[tuple] = [] if None in first else [first]

    def place(self) -> tuple:
        """For each aval an array and a buffer that are the same memory."""
        return tuple([xla.shared(aval.shape, aval.dtype, self.signature.device) for aval in self.avals])

    def new(self) -> tuple:
        """Another place; LookupError if there were enough."""
        self.made += 1
        if self.made > MAX_PLACES:
            self.signature.waits = True
            raise LookupError
        return self.place()


def host_leaf(cls: type, kind: Aval | type, device, cached: bool) -> Callable:
    """A function that puts a leaf of a class on the device; TypeError for another class or aval."""
    aval = SCALAR_AVALS.get(kind, kind)
    to_device = xla.putter(aval.shape, aval.dtype, device)
    if cls is np.ndarray:
        return _array(aval, to_device)
    if cached and (cls is int or cls is float):
        return _number(cls, aval, to_device)

    def put(x):
        if x.__class__ is not cls:
            raise TypeError
        return to_device(np.asarray(x, aval.dtype))

    return put


def _array(aval: Aval, to_device: Callable) -> Callable:
    shape, dtype, array = aval.shape, aval.dtype, np.ndarray

    def put(x):
        if x.__class__ is not array or x.dtype != dtype or x.shape != shape:
            raise TypeError
        return to_device(x)

    return put


def _number(cls: type, aval: Aval, to_device: Callable) -> Callable:
    """Putting a number takes 2.9 us, and a step size is often the one of the last call."""
    last, dtype = (0, None), aval.dtype

    def put(x):
        nonlocal last
        before, buffer = last
        if x == before and x and x.__class__ is cls:  # 0.0 and -0.0 are equal
            return buffer
        if x.__class__ is not cls or cls is int and not fits(x):
            raise TypeError
        buffer = to_device(np.asarray(x, dtype))
        last = x, buffer
        return buffer

    return put
