"""Lenses: the kinds of views, as functions of arrays. What a lens shows of its base, and the base after another part
was put there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ... import primitives as p
from ...core import dtypes as dt
from ...core.aval import aval
from ...core.trace import evaluate, trace_closed

INT, BOOL = aval((), np.dtype("int64")), np.dtype(bool)


class Lens(NamedTuple):
    """A kind of view with its parameters; hashable.

    `ints` are parameters that vary while the view stays the same kind of thing (the i of x[i]):
    they come as packed inputs, so that another i compiles nothing.
    """

    kind: str
    params: tuple = ()
    ints: tuple[int, ...] = ()

    @property
    def static(self) -> tuple:
        """What the getter's graph depends on."""
        return self.kind, self.params, len(self.ints)


STATIC_ENDS = 128
# Up to so many parts or rows a dimension holds things of a kind each (q, k, v) rather than those of a loop. Their
# places are written into the graph, which lets XLA do without a copy.
STATIC_PARTS = 4


def is_static(position: int, ends: tuple[int, ...], n: int) -> bool:
    """Whether a position in a dimension of n elements is written into the graph.

    The ends are, in small dimensions: x[:, 0], h[-1]. A long dimension is more likely one that a
    loop runs over, where the first and the last step must not be programs of their own.
    """
    return n <= STATIC_ENDS and position in ends


def is_static_index(index: int, n: int, dim: int) -> bool:
    """Whether one index of a dimension of n elements, as it was given, is written into the graph: an end of a small
    one. Of the first dimension the ends of few, and what is said to be the last: a loop runs over its others, and its
    first turn is to be the program of the rest."""
    if dim:
        return is_static(index % n, (0, n - 1), n)
    return index == -1 or n <= STATIC_PARTS and index in (0, n - 1, -n)


class Kind(NamedTuple):
    """get(x, *params, *ints); put(base, new, *params, *ints) or None for the general one, which
    takes no ints; layout(shape, strides, offset, *params, *ints) -> shape, strides, offset.
    `node` names the op for grad_fn, from the params; host(array, *params) is get for NumPy arrays,
    of kinds without ints. `whole`: it shows every element once, so that to write to it is to write everything;
    `overlapping`: it may show one twice; `permuting`: its dimensions may lie in another order; `bits`: what it does
    to the conjugate and the negative bit, (conj, neg) -> (conj, neg); `reinterprets`: it shows elements of another
    dtype; `several`: it shows one of several parts that one call returns."""

    get: Callable
    put: Callable | None
    layout: Callable
    node: Callable | None = None
    host: Callable | None = None
    whole: bool = False
    overlapping: bool = False
    permuting: bool = False
    bits: Callable | None = None
    reinterprets: bool = False
    several: bool = False

    @property
    def other_numbers(self) -> bool:
        """Whether the elements it shows are other numbers than those in memory."""
        return self.reinterprets or self.bits is not None


KINDS: dict[str, Kind] = {}  # declared in `kinds`


def view_kind(name: str, *, get: Callable, layout: Callable, put: Callable | None = None, **more):
    """Declare a kind of view."""
    KINDS[name] = Kind(get, put, layout, **more)


# ---- getters and setters -----------------------------------------------------------------------------


def over(old, new, whole: bool = True):
    """new; and if it takes the `whole` place of old, old stays on the tape with zero gradients."""
    return p.select(p.full(new.aval.shape, False, BOOL), old, new) if whole else new


def besides(x, other):
    """x, with the other value on the tape, too, with zero gradients."""
    if other.aval.dtype not in dt.INEXACT:
        return x
    flat = p.reshape(other, shape=(other.aval.size,))
    one = p.reduce_sum(p.slice(flat, start=(0,), limit=(min(other.aval.size, 1),)), axes=(0,))
    one = p.broadcast_in_dim(p.convert(one, dtype=x.aval.dtype), shape=x.aval.shape, dims=())
    return p.select(p.full(x.aval.shape, True, BOOL), x, one)


def look_through(x, chain, ints):
    """What a chain of lenses, as `Lens.static` has them, shows of x."""
    for kind, params, n in chain:
        x = KINDS[kind].get(x, *params, *[next(ints) for _ in range(n)])
    return x


def put_through(base, new, chain, ints):
    """A base with a new part where a chain of lenses looks."""
    looked_at, inside = [], base  # what each lens looks at: a chain may be longer than Python's stack is deep
    for place, (kind, params, n) in enumerate(chain):
        rest, lens = chain[place + 1 :], KINDS[kind]
        if rest and lens.overlapping:
            new, chain = _put_touched(inside, new, Lens(kind, params), rest, ints[n:]), chain[:place]
            break
        mine, ints = ints[:n], ints[n:]
        looked_at.append((inside, mine))
        if rest:
            inside = lens.get(inside, *params, *mine)
    for (kind, params, _), (old, mine) in zip(reversed(chain), reversed(looked_at)):
        put = KINDS[kind].put
        new = put_by_index(old, new, Lens(kind, params)) if put is None else put(old, new, *params, *mine)
    return new


def put_values(base, new_for: Callable, lens: tuple, ints):
    """A base with new_for(aval) where a lens, as `Lens.static` has it, shows a part of that aval."""
    part = look_through(base, (lens,), iter(ints)).aval
    return put_through(base, new_for(part), (lens,), ints)


def put_by_index(base, new, lens: Lens):
    """The general setter: scatter to the places the getter reads from."""
    if not new.aval.size:
        return besides(base, new)
    places = index_map(lens, base.aval.shape)
    flat = p.reshape(base, shape=(base.aval.size,))
    updates = p.reshape(new, shape=(new.aval.size,))
    index = p.constant(places.reshape(-1))
    out = p.scatter_axis(flat, index, updates, axis=0, combine="set")
    return p.reshape(out, shape=base.aval.shape)


def _put_touched(base, new, lens: Lens, rest, ints):
    """Put through a lens that shows elements several times: only what `rest` writes to counts."""
    old = KINDS[lens.kind].get(base, *lens.params)
    whole = put_through(old, new, rest, ints)
    blank = p.full(old.aval.shape, 0, old.aval.dtype)
    touched = p.ne(put_through(blank, p.full(new.aval.shape, _mark(new.aval.dtype), new.aval.dtype), rest, ints), blank)
    places = p.constant(index_map(lens, base.aval.shape))
    places = p.select(touched, places, p.full(places.aval.shape, base.aval.size, INT.dtype))
    out = p.scatter_axis(
        p.reshape(base, shape=(base.aval.size,)),
        p.reshape(places, shape=(places.aval.size,)),
        p.reshape(whole, shape=(whole.aval.size,)),
        axis=0,
        mode="drop",
    )
    return p.reshape(out, shape=base.aval.shape)


def _mark(dtype: np.dtype):
    """A number of which no byte is zero: its bytes may be parts of other numbers."""
    if dtype == BOOL:
        return True
    if dtype in dt.COMPLEX:
        return 1.1 + 1.1j
    return 1.1 if dtype in dt.INEXACT else np.iinfo(dtype).max


@functools.lru_cache(256)
def index_map(lens: Lens, shape: tuple[int, ...]) -> np.ndarray:
    """For each element of the view, the flat position in its base."""
    a = aval(shape, np.dtype("int64"))
    graph = trace_closed(lambda x: [KINDS[lens.kind].get(x, *lens.params)], [a], lens.kind)
    return evaluate(graph, [np.arange(a.size, dtype=np.int64).reshape(shape)])[0]
