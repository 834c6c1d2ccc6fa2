"""Typed keys: fc.random.key(seed) is an array of keys, whose numbers are hidden and which knows its generator."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np

from ..core import tree
from ..core.errors import KeyReuseError
from ..core.explain import MISTAKES, explaining
from ..core.graph import Graph
from ..core.primitive import Traits
from ..engine import Value
from ..ops import keys as raw
from ..ops.creation import canonical_shape
from ..ops.keys import RBG, THREEFRY, UNSAFE_RBG, WORDS
from .array import Array
from .expose import public
from .jit import make_graph
from .tracing import ShapeDtype
from .vmap import vmap

TAGS = {THREEFRY: "fry", RBG: "rbg", UNSAFE_RBG: "urbg"}
NOT_NUMBERS = """a typed key, {key}, has no numbers to compute with.
    Draw from it with fc.random, or ask for its bits: fc.random.key_data(key)."""
NOT_KEYS = "random.{name} takes typed keys, from fc.random.key(seed), got {kind}"
WRONG_WORDS = "random.wrap_key_data: keys of {impl!r} are uint32[..., {words}], got {found}"
default = THREEFRY  # see config.jax_default_prng_impl


_told = functools.partial(explaining, space="fc.random")


class extended(np.generic):  # noqa: N801  the name is JAX's
    """What dtypes are that NumPy has not."""


class prng_key(extended):  # noqa: N801  the name is JAX's
    """The kind of the dtypes of typed keys: fc.numpy.issubdtype(key.dtype, fc.dtypes.prng_key)."""


class KeyDtype:
    """The dtype of typed keys of a generator: key<fry>."""

    type = prng_key

    def __init__(self, impl: str):
        self.impl = impl
        self.name = f"key<{TAGS[impl]}>"
        self.itemsize = 4 * WORDS[impl]

    def __repr__(self):
        return self.name

    def __eq__(self, other):
        return isinstance(other, KeyDtype) and other.impl == self.impl

    def __hash__(self):
        return hash(self.impl)


OF_THEIR_NUMBERS = ("committed", "copy_to_host_async", "delete", "devices", "is_deleted") + (
    "is_fully_addressable",
    "is_fully_replicated",
    "platform",
)


class KeyArray:
    """An array of typed keys: a pytree of their numbers, so that transforms and loops take it.

    >>> import functorch_core as fc
    >>> fc.random.split(fc.random.key(0), 3).shape
    (3,)
    """

    __slots__ = ("_data", "_impl", "_used")
    watching = False  # see fc.debug_key_reuse
    not_an_operand = """{name} takes numbers, and {kind} is of typed keys, which have none.
    Draw from it with fc.random, or ask for its bits: fc.random.key_data(key)."""

    def __init__(self, data, impl: str):
        self._data, self._impl, self._used = data, impl, ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape: of keys, not of their numbers."""
        return self._data.shape[:-1]

    @property
    def ndim(self) -> int:
        """How many dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many keys."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> KeyDtype:
        """key<fry> of the usual generator."""
        return KeyDtype(self._impl)

    @property
    def device(self):
        """Where the keys are."""
        return self._data.device

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a single key")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if any(i is Ellipsis for i in index):
            return self._with(self._data[(*index, slice(None))])
        return self._with(self._data[(*index, ..., slice(None))])

    def _with(self, data) -> KeyArray:
        return KeyArray(data, self._impl)

    def reshape(self, *shape) -> KeyArray:
        """The keys in another shape."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if -1 in shape:
            known = -int(np.prod(shape, dtype=np.int64))
            shape = tuple(self.size // known if n == -1 else n for n in shape)
        return self._with(self._data.reshape((*map(operator.index, shape), self._data.shape[-1])))

    def ravel(self) -> KeyArray:
        """The keys in one dimension."""
        return self.reshape(self.size)

    flatten = ravel

    def squeeze(self) -> KeyArray:
        """The keys without dimensions of size 1."""
        return self.reshape(tuple(n for n in self.shape if n != 1))

    def block_until_ready(self) -> KeyArray:
        """The keys, computed."""
        self._data.block_until_ready()
        return self

    def __eq__(self, other):
        if not isinstance(other, KeyArray):
            return NotImplemented
        return (self._data == other._data).all(-1)

    def __ne__(self, other):
        return NotImplemented if not isinstance(other, KeyArray) else ~(self == other)

    __hash__ = None

    def transpose(self, *axes) -> KeyArray:
        """The keys with their dimensions in another order."""
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        order = tuple(range(self.ndim))[::-1] if axes in ((), (None,)) else tuple(a % self.ndim for a in axes)
        return self._with(self._data.transpose((*order, self.ndim)))

    @property
    def T(self) -> KeyArray:  # noqa: N802  the name is JAX's
        """The keys with their dimensions reversed."""
        return self.transpose()

    @property
    def itemsize(self) -> int:
        """The bytes of a key."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all keys."""
        return self.size * self.itemsize

    @property
    def sharding(self):
        """Where the keys are, as of Arrays."""
        return self._data.sharding

    def __getattr__(self, name: str):
        if name in OF_THEIR_NUMBERS:
            return getattr(self._data, name)
        raise AttributeError(f"typed keys have no attribute {name!r}; their bits are fc.random.key_data(key)")

    def copy(self) -> KeyArray:
        """The same keys, which stay where memory of these is given away."""
        return self._with(self._data.copy())

    def __array__(self, dtype=None, copy=None):
        raise TypeError(NOT_NUMBERS.format(key=self._shown()))

    def _refused(self, *others):
        raise TypeError(NOT_NUMBERS.format(key=self._shown()))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __neg__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __xor__ = __or__ = __matmul__ = _refused

    def _shown(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name})"

    def __repr__(self):
        known = self._data.__class__ is Array and self._data._value.__class__ is Value
        return f"{self._shown()} overlaying:\n{np.asarray(self._data)}" if known else self._shown()


type(Array).keys = KeyArray
tree.register_sealed(KeyArray, lambda k: ((k._data,), k._impl), lambda impl, children: KeyArray(children[0], impl))

# ---- functions that move elements ----------------------------------------------------------------
# Which these are nobody lists: the primitives say whether they move elements (Traits.moves, carries).


def _moved(function: Callable, args: tuple, kwargs: dict):
    """A function of typed keys that only moves elements, computed on each word of the keys; None for another one."""
    leaves, structure = tree.flatten((args, kwargs), lambda x: x.__class__ is KeyArray)
    at = [
        i
        for i, x in enumerate(leaves)
        if x.__class__ is KeyArray or (x.__class__ is Array or isinstance(x, np.ndarray))
    ]
    given = [leaves[i] for i in at]
    keys = [x.__class__ is KeyArray for x in given]
    impls = {x._impl for x in given if x.__class__ is KeyArray}
    if len(impls) != 1 or any(map(callable, leaves)):
        return None

    def words(*arrays):
        full = list(leaves)
        for i, x in zip(at, arrays):
            full[i] = x
        again, keywords = structure.unflatten(full)
        return function(*again, **keywords)

    avals = [ShapeDtype(x.shape, np.uint32 if is_key else x.dtype) for x, is_key in zip(given, keys)]
    try:
        graph = make_graph(words)(*avals)
    except MISTAKES:
        if all(keys):
            raise  # what is said of the shapes is true of the keys
        return None
    if not _only_moves(graph, keys):
        return None
    bits = [x._data if is_key else x for x, is_key in zip(given, keys)]
    out = vmap(words, in_axes=tuple(-1 if is_key else None for is_key in keys), out_axes=-1)(*bits)
    return tree.map(lambda data: KeyArray(data, *impls), out)


def _only_moves(graph: Graph, keys: list[bool]) -> bool:
    """Whether all results of a graph are elements of the inputs that are keys, and nothing is computed of these."""
    moving = {slot for slot, is_key in zip(graph.inputs, keys) if is_key}
    for node in graph.nodes:
        touched = [slot in moving for slot in node.inputs]
        if not any(touched):
            continue
        wanted = _handed_on(node.primitive.traits, len(touched))
        if wanted is None or touched != wanted:
            return False
        moving.update(node.outputs)
    return bool(graph.outputs) and moving.issuperset(graph.outputs)


def _handed_on(traits: Traits, count: int) -> list[bool] | None:
    """Which operands of a primitive its results' elements are of; None if it computes."""
    if traits.moves is None and not traits.carries:
        return None
    places = range(count)[traits.moves] if traits.moves else (0, count - 1) if traits.updates else (0,)
    return [i in places for i in range(count)]


KeyArray.otherwise = staticmethod(_moved)


class _At:
    """keys.at[index], as of Arrays."""

    __slots__ = ("_keys", "_index")

    def __init__(self, keys: KeyArray, index=None):
        self._keys, self._index = keys, index

    def __getitem__(self, index) -> _At:
        return _At(self._keys, index)

    def set(self, keys: KeyArray, **options) -> KeyArray:
        """The keys with others in these places."""
        if keys.__class__ is not KeyArray or keys.dtype != self._keys.dtype:
            raise TypeError(NOT_KEYS.format(name="key.at[...].set", kind=type(keys).__name__))
        index = self._index
        found = _moved(lambda x, y: x.at[index].set(y, **options), (self._keys, keys), {})
        return found if found is not None else self._keys._with(self._keys._data.at[index].set(keys._data, **options))

    def get(self, **options) -> KeyArray:
        """The keys in these places."""
        return self._keys[self._index]


KeyArray.at = property(_At, doc="keys.at[index].set(other): the keys with others in some places.")

# ---- the functions of fc.random ------------------------------------------------------------------

KEEPS = frozenset({"clone", "fold_in", "key_data", "key_impl"})  # what uses no key up
REUSED = """random.{name}: the key {key} was used before, by random.{before}
    A key that is used twice gives the same numbers. Split it: key, one = fc.random.split(key), and draw with one;
    or say that it is meant: fc.random.clone(key)."""
GIVES_KEYS = frozenset({"split", "fold_in", "clone"})


def _split_unsafe(key, num=2):
    return public(raw._split)(key, num=canonical_shape(num, "random.split"), unsafe=True)


def _fold_in_unsafe(key, data):
    return public(raw._fold_in_unsafe)(key, data)


UNSAFE = {"split": _split_unsafe, "fold_in": _fold_in_unsafe}


def keyed(name: str, function: Callable) -> Callable:
    """A function of fc.random whose first argument may be a typed key; of one, keys come back typed."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        key = args[0] if args else kwargs.get("key")
        if key.__class__ is not KeyArray:
            return function(*args, **kwargs)
        if KeyArray.watching and name not in KEEPS:
            if key._used:
                raise KeyReuseError(REUSED.format(name=name, key=key._shown(), before=key._used))
            key._used = name
        inner = UNSAFE[name] if key._impl == UNSAFE_RBG and name in UNSAFE else function
        if args:
            out = inner(key._data, *args[1:], **kwargs)
        else:
            out = inner(**{**kwargs, "key": key._data})
        return KeyArray(out, key._impl) if name in GIVES_KEYS else out

    return call


@_told
def key(seed, *, impl=None, dtype=None) -> KeyArray:
    """A typed key of an integer seed (a Python int modulo 2**64, or an array of no dimension).

    `impl`: "threefry2x32", "rbg" or "unsafe_rbg"; or `dtype`, that of keys of one.

    >>> import functorch_core as fc
    >>> fc.random.key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    impl = _impl_of(impl or dtype, "key")
    return KeyArray(PRNGKey(seed, impl=impl), impl)


@_told
def PRNGKey(seed, *, impl=None) -> Array:  # noqa: N802  the name is JAX's
    """A key as its numbers, uint32[2], of an integer seed; see key. Of "rbg" and "unsafe_rbg" they are uint32[4].

    >>> import functorch_core as fc
    >>> fc.random.PRNGKey(0)
    Array([0, 0], dtype=uint32)
    """
    if isinstance(seed, int):
        seed = np.uint64(seed % 2**64)
    elif isinstance(seed, (str, float)):
        raise TypeError(f"random.key takes an integer as its seed, got {seed!r:.60}")
    return public(raw._key_of)(seed, impl=_impl_of(impl, "PRNGKey"))


def _impl_of(impl, name: str) -> str:
    if isinstance(impl, KeyDtype):
        return impl.impl
    return raw.check_impl(impl or default, name)


@_told
def key_data(keys) -> Array:
    """The numbers of keys, uint32[..., 2]; keys that are numbers already are themselves.

    >>> import functorch_core as fc
    >>> fc.random.key_data(fc.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return keys._data if isinstance(keys, KeyArray) else public(raw._checked_keys)(keys, name="key_data")


@_told
def wrap_key_data(key_bits_array, *, impl=None, dtype=None) -> KeyArray:
    """Typed keys of their numbers, uint32[..., 2].

    >>> import functorch_core as fc
    >>> fc.random.wrap_key_data(fc.asarray([0, 7], dtype=fc.uint32)).dtype
    key<fry>
    """
    impl = _impl_of(impl or dtype, "wrap_key_data")
    data = public(raw._checked_keys)(key_bits_array, name="wrap_key_data")
    if data.shape[-1] != WORDS[impl]:
        raise TypeError(WRONG_WORDS.format(impl=impl, words=WORDS[impl], found=data.aval))
    return KeyArray(data, impl)


@_told
def key_impl(keys) -> str:
    """The name of the generator of keys.

    >>> import functorch_core as fc
    >>> fc.random.key_impl(fc.random.key(7))
    'threefry2x32'
    """
    if isinstance(keys, KeyArray):
        return keys._impl
    return THREEFRY if public(raw._checked_keys)(keys, name="key_impl").shape[-1] == 2 else RBG


@_told
def key_dtype(impl_spec=None) -> KeyDtype:
    """The dtype of typed keys of a generator; of the default one without its name.

    >>> import functorch_core as fc
    >>> fc.random.key_dtype() == fc.random.key(0).dtype
    True
    """
    return KeyDtype(_impl_of(impl_spec, "key_dtype"))
