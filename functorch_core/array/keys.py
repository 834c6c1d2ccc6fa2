"""Typed keys: fc.random.key(seed) is an array of keys, whose numbers are hidden and which knows its generator."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable

import numpy as np

from ..core import tree
from ..core.explain import explaining
from ..engine import Value
from ..ops import keys as raw
from ..ops.creation import canonical_shape
from ..ops.keys import RBG, THREEFRY, UNSAFE_RBG, WORDS
from .array import Array
from .expose import public
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


class KeyArray:
    """An array of typed keys: a pytree of their numbers, so that transforms and loops take it.

    >>> import functorch_core as fc
    >>> fc.random.split(fc.random.key(0), 3).shape
    (3,)
    """

    __slots__ = ("_data", "_impl")
    not_an_operand = """{name} takes numbers, and {kind} is of typed keys, which have none.
    Draw from it with fc.random, or ask for its bits: fc.random.key_data(key)."""

    def __init__(self, data, impl: str):
        self._data, self._impl = data, impl

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

    def __array__(self, dtype=None, copy=None):
        raise TypeError(NOT_NUMBERS.format(key=self._shown()))

    def _shown(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name})"

    def __repr__(self):
        known = isinstance(self._data, Array) and self._data._value.__class__ is Value
        return f"{self._shown()} overlaying:\n{np.asarray(self._data)}" if known else self._shown()


tree.register_node(KeyArray, lambda k: ((k._data,), k._impl), lambda impl, children: KeyArray(children[0], impl))

# ---- functions that move elements ----------------------------------------------------------------


def moves(names: str) -> Callable[[Callable], Callable]:
    """A decorator: the arrays of a function that only moves elements, its parameters `names`, may be typed keys.

    It then moves their numbers: it is mapped over the words of a key.
    """

    def decorate(function: Callable) -> Callable:
        function.otherwise = functools.partial(_moved, function, names.split())  # numbers pay nothing for it
        return function

    return decorate


def _moved(function: Callable, names: list[str], args: tuple, kwargs: dict) -> KeyArray | None:
    keys, apply = _keys_among(function, names, args, kwargs)
    if keys is None:
        return None
    impl = tree.leaves(keys, _is_keys)[0]._impl
    bits = tree.map(lambda k: k._data, keys, is_leaf=_is_keys)
    return KeyArray(vmap(apply, in_axes=-1, out_axes=-1)(bits), impl)


def _is_keys(x) -> bool:
    return isinstance(x, KeyArray)


def _keys_among(function: Callable, names: list[str], args: tuple, kwargs: dict):
    """(the arguments `names`, the function of these); None twice if they are not all keys of one generator."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None, None
    keys = {name: bound.arguments[name] for name in names if name in bound.arguments}
    leaves = tree.leaves(keys, _is_keys)
    if not all(map(_is_keys, leaves)) or len({k._impl for k in leaves}) != 1:
        return None, None

    def apply(bits: dict):
        bound.arguments.update(bits)
        return function(*bound.args, **bound.kwargs)

    return keys, apply


# ---- the functions of fc.random ------------------------------------------------------------------

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
