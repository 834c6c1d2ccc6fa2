"""A pickle machine that runs no code but what it is given.

Python's own unpickler can be told which globals to find, but still lets a file call methods
(`__setstate__`, `append`, `__setitem__`) of whatever it holds, size the memo by a number of its
own, and crash the interpreter by hashing a tuple nested a million deep. Here every opcode is a
few lines of Python that check their operands; `SafeGlobals` decides what a name means.
"""

import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import BinaryIO

MAX_KEY_DEPTH = 64
READ_CHUNK = 1 << 20
BLOCKED_MODULES = frozenset({"sys", "os", "posix", "nt"})

NOT_ALLOWED = (
    "Unsupported global: GLOBAL {name} was not an allowed global by default. If you trust it, "
    "use `torch.serialization.add_safe_globals([{name}])` or the "
    "`torch.serialization.safe_globals([{name}])` context manager."
)
BLOCKED = "Trying to load unsupported GLOBAL {name} whose module {module} is blocked."

UnpicklingError = pickle.UnpicklingError


# ---------------------------------------------------------------------------------- what names mean


def _make_set(items: object = ()) -> set:
    return {_hashable(item) for item in _expect(items, (list, tuple, set))}


def _make_bytearray(data: object = b"", encoding: str = "latin-1") -> bytearray:
    # An integer would be a size, and a file must not choose how much memory to take.
    if isinstance(data, str):
        data = _encode(data, encoding)
    return bytearray(_expect(data, (bytes, bytearray)))


def _encode(text: object, encoding: object = "latin1") -> bytes:
    # How Python 3 writes bytes in protocol 2; other codecs would import modules by name.
    if encoding not in ("latin1", "latin-1"):
        raise UnpicklingError(f"bytes may only be encoded as latin1, got {encoding!r}")
    return _expect(text, str).encode("latin1")


def _make_ordered_dict(items: object = ()) -> OrderedDict:
    if isinstance(items, dict):
        items = list(items.items())
    pairs = [_expect(pair, (list, tuple)) for pair in _expect(items, (list, tuple))]
    return OrderedDict((_hashable(key), value) for key, value in pairs)


def _make_counter(counts: object = ()) -> Counter:
    return Counter(dict(_expect(counts, dict)))


def _make_complex(real: object, imag: object) -> complex:
    return complex(_expect(real, (int, float)), _expect(imag, (int, float)))


SAFE_CONSTRUCTORS: dict[str, Callable] = {
    "_codecs.encode": _encode,
    "builtins.bytearray": _make_bytearray,
    "builtins.complex": _make_complex,
    "builtins.set": _make_set,
    "collections.Counter": _make_counter,
    "collections.OrderedDict": _make_ordered_dict,
}


class SafeGlobals:
    """Only names that are listed, and calls only of what those names mean."""

    def __init__(self, allowed: Mapping[str, object]):
        self._allowed = {**SAFE_CONSTRUCTORS, **allowed}
        # The mapping keeps the objects alive, so their ids stay theirs.
        self._ids = {id(value) for value in self._allowed.values()}

    def find(self, module: str, name: str) -> object:
        """The object for `module.name`; UnpicklingError if it is not listed."""
        path = f"{module}.{name}"
        if module in BLOCKED_MODULES:
            raise UnpicklingError(BLOCKED.format(name=path, module=module))
        if path not in self._allowed:
            raise UnpicklingError(NOT_ALLOWED.format(name=path.removeprefix("builtins.")))
        return self._allowed[path]

    def _is_allowed(self, value: object) -> bool:
        return id(value) in self._ids

    def call(self, function: object, arguments: object) -> object:
        """REDUCE."""
        if not self._is_allowed(function):
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {function!r}")
        return function(*_expect(arguments, tuple))

    def new(self, cls: object, arguments: object, keywords: Mapping) -> object:
        """NEWOBJ: `cls.__new__`, or our constructor where we have one instead of the class."""
        if not self._is_allowed(cls):
            raise UnpicklingError(
                f"Can only create new object for classes allowlisted via `add_safe_globals` but got {cls!r}"
            )
        _expect(arguments, tuple)
        if isinstance(cls, type):
            return cls.__new__(cls, *arguments, **keywords)
        return cls(*arguments, **keywords)

    def build(self, instance: object, state: object) -> None:
        """BUILD: give an object its state."""
        if type(instance) is OrderedDict:
            instance.__dict__.update(_expect(state, dict))
            return
        if not self._is_allowed(type(instance)):
            raise UnpicklingError(
                "Can only build OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(instance).__name__}"
            )
        if hasattr(instance, "__setstate__"):
            instance.__setstate__(state)
        else:
            _set_state(instance, state)


def _set_state(instance: object, state: object) -> None:
    """State as pickle gives it: attributes, or (attributes, slots)."""
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        instance.__dict__.update(_expect(state, dict))
    for name, value in (slots or {}).items():
        setattr(instance, name, value)


class _Inert:
    """Stands for whatever a file would have made."""

    def __init__(self, name: str = ""):
        self.name = name


class InertGlobals:
    """Nothing is found, called or built: for reading past a pickle, and what it refers to."""

    def find(self, module: str, name: str) -> _Inert:
        """A placeholder that remembers its name."""
        return _Inert(name)

    def call(self, function: object, arguments: object) -> _Inert:
        """A placeholder for the result."""
        return _Inert()

    def new(self, cls: object, arguments: object, keywords: Mapping) -> _Inert:
        """A placeholder for the instance."""
        return _Inert()

    def build(self, instance: object, state: object) -> None:
        """Nothing to do."""


# ------------------------------------------------------------------------------------------ checks


def _expect(value: object, types: type | tuple[type, ...]) -> object:
    if not isinstance(value, types):
        raise UnpicklingError(f"the file has a {type(value).__name__} where it must not")
    return value


def _hashable(key: object) -> object:
    """A key that can be hashed without overflowing the interpreter's stack, or an error."""
    level = [key]
    for _ in range(MAX_KEY_DEPTH):
        level = [item for each in level if isinstance(each, (tuple, frozenset)) for item in each]
        if not level:
            return key
        if len(level) > READ_CHUNK:
            break
    raise UnpicklingError(f"a dictionary key is nested more than {MAX_KEY_DEPTH} tuples deep")


# ----------------------------------------------------------------------------------------- machine

_MARK = object()
_handlers: dict[int, Callable[["Machine"], None]] = {}


def _op(opcode: bytes) -> Callable:
    def register(handler: Callable) -> Callable:
        _handlers[opcode[0]] = handler
        return handler

    return register


class Machine:
    """Runs one pickle from a stream, leaving the stream just after it."""

    def __init__(
        self,
        stream: BinaryIO,
        *,
        names: SafeGlobals | InertGlobals,
        persistent_load: Callable[[object], object],
        encoding: str = "utf-8",
    ):
        self._stream = stream
        self._persistent_load = persistent_load
        self.names = names
        self.encoding = encoding
        self.stack: list = []
        self.memo: dict[int, object] = {}

    def load(self) -> object:
        """The pickled object; UnpicklingError for anything that is not a proper pickle."""
        try:
            while True:
                opcode = self.read(1)[0]
                if opcode == pickle.STOP[0]:
                    return self.pop()
                handler = _handlers.get(opcode)
                if handler is None:
                    raise UnpicklingError(f"Unsupported operand {opcode}")
                handler(self)
        except (UnpicklingError, RuntimeError):
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise UnpicklingError(f"the pickle is damaged ({reason})") from error

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes, asked for in pieces: the number may be a lie."""
        pieces = []
        while count > 0:
            piece = self._stream.read(min(count, READ_CHUNK))
            if not piece:
                raise UnpicklingError("the pickle is truncated")
            pieces.append(piece)
            count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def number(self, layout: str) -> int | float:
        """A number of a struct layout."""
        return struct.unpack(layout, self.read(struct.calcsize(layout)))[0]

    def line(self) -> str:
        """Text up to the next newline."""
        line = self._stream.readline(READ_CHUNK)
        if not line.endswith(b"\n"):
            raise UnpicklingError("the pickle is truncated")
        return line[:-1].decode("utf-8")

    def push(self, value: object) -> None:
        """Put on the stack."""
        self.stack.append(value)

    def pop(self) -> object:
        """Take from the stack, never a mark."""
        value = self.stack.pop()
        if value is _MARK:
            raise UnpicklingError("the pickle is damaged (unexpected mark)")
        return value

    def top(self) -> object:
        """Look at the top of the stack."""
        if self.stack[-1] is _MARK:
            raise UnpicklingError("the pickle is damaged (unexpected mark)")
        return self.stack[-1]

    def pop_mark(self) -> list:
        """Everything above the last mark."""
        items = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def remember(self, index: int) -> None:
        """Memoise the top of the stack."""
        self.memo[index] = self.top()

    def find(self, module: str, name: str) -> None:
        """Push what a name means; names of Python 2 are translated, as pickle does."""
        if (module, name) in NAME_MAPPING:
            module, name = NAME_MAPPING[module, name]
        self.push(self.names.find(IMPORT_MAPPING.get(module, module), name))

    def set_items(self, items: list) -> None:
        """Store key, value, key, value... in the dictionary on top."""
        target = self.top()
        if isinstance(target, _Inert):
            return
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(f"Can only set items of dictionaries, not {type(target)}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_hashable(key)] = value

    def extend(self, items: list, kind: type) -> None:
        """Add items to the list or set on top."""
        target = self.top()
        if isinstance(target, _Inert):
            return
        if type(target) is not kind:
            raise UnpicklingError(f"Can only extend a {kind.__name__}, not {type(target)}")
        if kind is set:
            items = map(_hashable, items)
        target.extend(items) if kind is list else target.update(items)

    def persistent(self, identity: object) -> None:
        """Push the storage that an id stands for."""
        is_storage = type(identity) is tuple and identity[:1] in (("storage",), (b"storage",))
        if not is_storage and isinstance(self.names, SafeGlobals):
            raise UnpicklingError("Only persistent_load of storage is allowed")
        self.push(self._persistent_load(identity))


# ---------------------------------------------------------------------------------------- constants

_CONSTANTS = {pickle.NONE: None, pickle.NEWFALSE: False, pickle.NEWTRUE: True, pickle.EMPTY_TUPLE: ()}
_EMPTY = {pickle.EMPTY_LIST: list, pickle.EMPTY_DICT: dict, pickle.EMPTY_SET: set}
_NUMBERS = {pickle.BININT: "<i", pickle.BININT1: "<B", pickle.BININT2: "<H", pickle.BINFLOAT: ">d"}
# Opcodes followed by a length, of which this is the layout, and as many bytes.
_TEXTS = {pickle.BINUNICODE: "<I", pickle.BINUNICODE8: "<Q", pickle.SHORT_BINUNICODE: "<B"}
_BYTES = {pickle.BINBYTES: "<I", pickle.BINBYTES8: "<Q", pickle.SHORT_BINBYTES: "<B"}
_OLD_STRINGS = {pickle.BINSTRING: "<i", pickle.SHORT_BINSTRING: "<B"}
_LONGS = {pickle.LONG1: "<B", pickle.LONG4: "<i"}


def _sized(layout: str, convert: Callable[["Machine", bytes], object]) -> Callable:
    def handler(machine: Machine) -> None:
        length = machine.number(layout)
        if length < 0:
            raise UnpicklingError("the pickle is damaged (negative length)")
        machine.push(convert(machine, machine.read(length)))

    return handler


def _register_constants() -> None:
    for opcode, value in _CONSTANTS.items():
        _op(opcode)(lambda machine, value=value: machine.push(value))
    for opcode, kind in _EMPTY.items():
        _op(opcode)(lambda machine, kind=kind: machine.push(kind()))
    for opcode, layout in _NUMBERS.items():
        _op(opcode)(lambda machine, layout=layout: machine.push(machine.number(layout)))


def _register_sized() -> None:
    for opcode, layout in _TEXTS.items():
        _op(opcode)(_sized(layout, lambda machine, data: str(data, "utf-8", "surrogatepass")))
    for opcode, layout in _BYTES.items():
        _op(opcode)(_sized(layout, lambda machine, data: bytes(data)))
    for opcode, layout in _OLD_STRINGS.items():
        _op(opcode)(_sized(layout, _old_string))
    for opcode, layout in _LONGS.items():
        _op(opcode)(_sized(layout, lambda machine, data: pickle.decode_long(data)))
    _op(pickle.BYTEARRAY8)(_sized("<Q", lambda machine, data: bytearray(data)))


def _old_string(machine: Machine, data: bytes) -> object:
    """A str of Python 2: bytes or text, as the caller's `encoding` says."""
    return data if machine.encoding == "bytes" else data.decode(machine.encoding)


_register_constants()
_register_sized()


# ---------------------------------------------------------------------------- stack and containers


@_op(pickle.PROTO)
def _proto(machine: Machine) -> None:
    version = machine.number("<B")
    if version > pickle.HIGHEST_PROTOCOL:
        raise UnpicklingError(f"unknown pickle protocol {version}")


@_op(pickle.FRAME)
def _frame(machine: Machine) -> None:
    machine.read(8)


@_op(pickle.MARK)
def _mark(machine: Machine) -> None:
    machine.push(_MARK)


@_op(pickle.POP)
def _pop(machine: Machine) -> None:
    machine.stack.pop()


@_op(pickle.POP_MARK)
def _pop_mark(machine: Machine) -> None:
    machine.pop_mark()


@_op(pickle.TUPLE)
def _tuple(machine: Machine) -> None:
    machine.push(tuple(machine.pop_mark()))


def _tuple_of(count: int) -> Callable:
    def handler(machine: Machine) -> None:
        items = [machine.pop() for _ in range(count)]
        machine.push(tuple(items[::-1]))

    return handler


for _count, _opcode in enumerate((pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3), start=1):
    _op(_opcode)(_tuple_of(_count))


@_op(pickle.FROZENSET)
def _frozenset(machine: Machine) -> None:
    machine.push(frozenset(map(_hashable, machine.pop_mark())))


@_op(pickle.APPEND)
def _append(machine: Machine) -> None:
    item = machine.pop()
    machine.extend([item], list)


@_op(pickle.APPENDS)
def _appends(machine: Machine) -> None:
    machine.extend(machine.pop_mark(), list)


@_op(pickle.ADDITEMS)
def _additems(machine: Machine) -> None:
    machine.extend(machine.pop_mark(), set)


@_op(pickle.SETITEM)
def _setitem(machine: Machine) -> None:
    value, key = machine.pop(), machine.pop()
    machine.set_items([key, value])


@_op(pickle.SETITEMS)
def _setitems(machine: Machine) -> None:
    machine.set_items(machine.pop_mark())


# ------------------------------------------------------------------------------------------- memo


for _opcode, _layout in {pickle.BINGET: "<B", pickle.LONG_BINGET: "<I"}.items():
    _op(_opcode)(lambda machine, layout=_layout: machine.push(machine.memo[machine.number(layout)]))
for _opcode, _layout in {pickle.BINPUT: "<B", pickle.LONG_BINPUT: "<I"}.items():
    _op(_opcode)(lambda machine, layout=_layout: machine.remember(machine.number(layout)))


@_op(pickle.MEMOIZE)
def _memoize(machine: Machine) -> None:
    machine.remember(len(machine.memo))


# ------------------------------------------------------------------------- names, calls, storages


@_op(pickle.GLOBAL)
def _global(machine: Machine) -> None:
    module = machine.line()
    machine.find(module, machine.line())


@_op(pickle.STACK_GLOBAL)
def _stack_global(machine: Machine) -> None:
    name, module = _expect(machine.pop(), str), _expect(machine.pop(), str)
    machine.find(module, name)


@_op(pickle.REDUCE)
def _reduce(machine: Machine) -> None:
    arguments, function = machine.pop(), machine.pop()
    machine.push(machine.names.call(function, arguments))


@_op(pickle.NEWOBJ)
def _newobj(machine: Machine) -> None:
    arguments, cls = machine.pop(), machine.pop()
    machine.push(machine.names.new(cls, arguments, {}))


@_op(pickle.NEWOBJ_EX)
def _newobj_ex(machine: Machine) -> None:
    keywords, arguments, cls = machine.pop(), machine.pop(), machine.pop()
    machine.push(machine.names.new(cls, arguments, _expect(keywords, dict)))


@_op(pickle.BUILD)
def _build(machine: Machine) -> None:
    state = machine.pop()
    machine.names.build(machine.top(), state)


@_op(pickle.BINPERSID)
def _persistent(machine: Machine) -> None:
    machine.persistent(machine.pop())
