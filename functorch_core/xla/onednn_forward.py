"""Normalisations, sums of rows, arrays joined or turned, steps element by element by oneDNN, float32, of host arrays.

Compiled programs have them by XLA, which fuses them with what lies around. Alone, of 64 x 32 x 32, 64 x 128 x 128 and
64 x 256 x 256 numbers normalised and read, both cores busy (median us, XLA's program and this): a layer 206 and 102,
364 and 231, 1,639 and 880, 8 groups 173 and 95, 407 and 317, 2,404 and 1,359.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import c_float as _Float
from ctypes import c_void_p as _P
from typing import NamedTuple, TypeAlias

from .native_call import Job, Unsupported
from .onednn import Calls, Ints, ints, is_available, made_by, strides_of

_TRAINING, _BACK, _BACK_BY_DATA = 64, 128, 160
SUM, PRODUCT = 0x2FFF4, 0x2FFF5  # of rows
ADD, MULTIPLY, MAXIMUM, DIVIDE, SUBTRACT = 0x1FFF0, 0x1FFF1, 0x1FFF2, 0x1FFF4, 0x1FFF5  # of two numbers
LINEAR, CLIP = 0x26, 0x2E  # of one: alpha x + beta, x in [alpha, beta]
_SCALED, _SHIFTED = 2, 4
_SRC, _SRC_1, _DST, _MEAN, _VARIANCE, _SCALE, _SHIFT, _POST = 1, 2, 17, 49, 50, 51, 52, 32768
_BY_SRC, _BY_DST, _BY_SCALE, _BY_SHIFT = 129, 145, 255, 256
_MANY_SRC = 1024


class Rows(NamedTuple):
    """Rows normalised, then scaled and shifted by column: x, [weight], [bias] -> out, means, variances."""

    rows: int
    columns: int
    weighted: bool
    biased: bool
    epsilon: float


class RowsBack(NamedTuple):
    """Their gradients: ct, x, means, variances, [weight] -> by x, [by weight], [by bias]. No bias without a weight."""

    rows: int
    columns: int
    weighted: bool
    biased: bool
    epsilon: float


class Groups(NamedTuple):
    """Groups of channels normalised in each example, then scaled and shifted by channel: as for rows."""

    examples: int
    groups: int
    channels: int
    places: int
    weighted: bool
    biased: bool
    epsilon: float


class Channelwise(NamedTuple):
    """Channels of x and a number of each, by one of these steps after the other: x, a vector for each -> out."""

    examples: int
    channels: int
    places: int
    steps: Ints


class Reduced(NamedTuple):
    """The sums or products of rows: x -> out. Each is made by 16 lanes, one number after the other."""

    kind: int
    rows: int
    columns: int


class Joined(NamedTuple):
    """Matrices of so many columns side by side: their rows, one behind the other."""

    rows: int
    columns: tuple[int, ...]


class Copied(NamedTuple):
    """Elements of four bytes, so far apart in each dimension, brought into row-major order: their bits."""

    shape: Ints
    strides: Ints


class Elementwise(NamedTuple):
    """So many numbers x: `first` of x and a number, then of the result and x again, or (kind, alpha, beta) of it alone.

    The maximum of NaN and something is the second operand, which x is where it comes again; bounds lose NaN.
    """

    size: int
    first: int
    number: float
    then: tuple[int | tuple[int, float, float], ...]


class Combined(NamedTuple):
    """x of a shape with y of `other`, which is 1 where its numbers are for all: x, y -> out, which may be the memory of
    x, and that of y if the shapes are equal."""

    kind: int
    shape: Ints
    other: Ints


Described: TypeAlias = Rows | RowsBack | Groups | Channelwise | Reduced | Joined | Copied | Elementwise | Combined


@functools.lru_cache(maxsize=512, typed=True)  # tuples of other classes are equal
def job_of(what: Described) -> Job | None:
    """The job, None if oneDNN has no fast way."""
    try:
        return made_by(lambda library: _Forward(library).job(what)) if is_available() else None
    except (Unsupported, MemoryError):
        return None


class _Forward(Calls):
    """The calls of what is computed here."""

    def job(self, what: Described) -> Job:
        """The job on the arrays that are named where it is described."""
        if isinstance(what, Rows):
            return self._rows(what)
        if isinstance(what, RowsBack):
            return self._rows_back(what)
        if isinstance(what, Groups):
            return self._groups(what)
        if isinstance(what, Channelwise):
            return self._channelwise(what)
        if isinstance(what, Elementwise):
            return self._elementwise(what)
        if isinstance(what, Combined):
            return self._combined(what)
        if isinstance(what, Copied):
            return self._copied(what)
        return self._reduced(what) if isinstance(what, Reduced) else self._joined(what)

    def _array(self, *shape: int) -> _P:
        strides = ints(strides_of(shape, tuple(range(len(shape)))))
        return self.desc("memory_desc_create_with_strides", shape, strides)

    def _new(self, create: str, *arguments: object) -> _P:
        made = self.made.new("primitive_desc")
        self.library(f"{create}_primitive_desc_create", ctypes.byref(made), self.library.engine, *arguments)
        return self.quick(made)

    def _normalised(self, rows: int, columns: int, flags: int, epsilon: float) -> _P:
        md, statistics = self._array(rows, columns), self._array(rows)
        numbers = _Float(epsilon), flags, self.library.attributes
        return self._new("layer_normalization_forward", _TRAINING, md, md, statistics, *numbers)

    def _rows(self, what: Rows) -> Job:
        """A layer normalisation."""
        desc = self._normalised(what.rows, what.columns, _SCALED * what.weighted + _SHIFTED * what.biased, what.epsilon)
        md, vector, statistics = self._array(what.rows, what.columns), self._array(what.columns), self._array(what.rows)
        places = [_SRC, *[_SCALE] * what.weighted, *[_SHIFT] * what.biased, _DST, _MEAN, _VARIANCE]
        of = {_SCALE: vector, _SHIFT: vector, _MEAN: statistics, _VARIANCE: statistics}
        memories = [self.memory(of.get(place, md)) for place in places]
        arrays = self.placed_later(memories)
        self.append(desc, list(zip(places, memories)))
        return Job(self.calls, arrays, self.made)

    def _rows_back(self, what: RowsBack) -> Job:
        flags, numbers = _SCALED * what.weighted + _SHIFTED * what.biased, (what.rows, what.columns)
        forward = self._normalised(*numbers, flags, what.epsilon)
        md, vector, statistics = self._array(*numbers), self._array(what.columns), self._array(what.rows)
        kind = _BACK if what.weighted else _BACK_BY_DATA
        desc = self._new(
            "layer_normalization_backward", kind, md, md, md, statistics, _Float(what.epsilon), flags, forward,
            self.library.attributes,
        )  # fmt: skip
        places = [_BY_DST, _SRC, _MEAN, _VARIANCE, *[_SCALE] * what.weighted, _BY_SRC]
        places += [_BY_SCALE] * what.weighted + [_BY_SHIFT] * what.biased
        of = {_MEAN: statistics, _VARIANCE: statistics, **dict.fromkeys((_SCALE, _BY_SCALE, _BY_SHIFT), vector)}
        memories = [self.memory(of.get(place, md)) for place in places]
        arrays, arguments = self.placed_later(memories), list(zip(places, memories))
        if what.biased:  # the bias, which is asked for and not read
            arguments.append((_SHIFT, memories[places.index(_SCALE)]))
        self.append(desc, arguments)
        return Job(self.calls, arrays, self.made)

    def _groups(self, what: Groups) -> Job:
        """A layer normalisation of the groups, then a product and a sum by channel in one pass."""
        rows, columns = what.examples * what.groups, what.channels // what.groups * what.places
        desc = self._normalised(rows, columns, 0, what.epsilon)
        (large, vector), statistics = self._by_channel(what.examples, what.channels, what.places), self._array(rows)
        x, out, means, variances = [self.memory(md) for md in (large, large, statistics, statistics)]
        vectors = [self.memory(vector) for _ in range(what.weighted + what.biased)]
        arrays = self.placed_later([x, *vectors, out, means, variances])
        self.append(desc, [(_SRC, x), (_DST, out), (_MEAN, means), (_VARIANCE, variances)])
        kinds = [MULTIPLY] * what.weighted + [ADD] * what.biased
        if kinds:
            attributes = self._then(kinds[1:], vector)
            binary = self._new("binary", kinds[0], large, vector, large, attributes)
            after = [(_POST * (i + 1) | _SRC_1, v) for i, v in enumerate(vectors[1:])]
            self.append(binary, [(_SRC, out), (_SRC_1, vectors[0]), (_DST, out), *after])
        return Job(self.calls, arrays, self.made)

    def _by_channel(self, examples: int, channels: int, places: int) -> tuple[_P, _P]:
        """An array of so many places for each channel, and a vector along its channels. A last dimension of 1 is left
        out: with it oneDNN takes the vector's first number for all channels."""
        last = (places,) if places > 1 else ()
        return self._array(examples, channels, *last), self._array(1, channels, *[1] * len(last))

    def _channelwise(self, what: Channelwise) -> Job:
        large, vector = self._by_channel(what.examples, what.channels, what.places)
        x, out, *vectors = [self.memory(md) for md in (large, large, *[vector] * len(what.steps))]
        arrays = self.placed_later([x, *vectors, out])
        desc = self._new("binary", what.steps[0], large, vector, large, self._then(what.steps[1:], vector))
        after = [(_POST * (i + 1) | _SRC_1, v) for i, v in enumerate(vectors[1:])]
        self.append(desc, [(_SRC, x), (_SRC_1, vectors[0]), (_DST, out), *after])
        return Job(self.calls, arrays, self.made)

    def _reduced(self, what: Reduced) -> Job:
        x, out = self._array(what.rows, what.columns), self._array(what.rows, 1)
        numbers = _Float(0), _Float(0), self.library.attributes  # of norms
        desc = self._new("reduction", what.kind, x, out, *numbers)
        memories = [self.memory(x), self.memory(out)]
        arrays = self.placed_later(memories)
        self.append(desc, list(zip((_SRC, _DST), memories)))
        return Job(self.calls, arrays, self.made)

    def _joined(self, what: Joined) -> Job:
        parts = [self._array(what.rows, n) for n in what.columns]
        whole = self._array(what.rows, sum(what.columns))
        made, engine = self.made.new("primitive_desc"), self.library.engine
        several = (_P * len(parts))(*parts)
        self.library(
            "concat_primitive_desc_create", ctypes.byref(made), engine, whole, len(parts), 1, several,
            self.library.attributes,
        )  # fmt: skip
        memories = [self.memory(md) for md in (*parts, whole)]
        arrays = self.placed_later(memories)
        places = [*range(_MANY_SRC, _MANY_SRC + len(parts)), _DST]
        self.append(self.quick(made), list(zip(places, memories)))
        return Job(self.calls, arrays, self.made)

    def _copied(self, what: Copied) -> Job:
        source = self.desc("memory_desc_create_with_strides", what.shape, ints(what.strides))
        target = self._array(*what.shape)
        memories = [self.memory(source), self.memory(target)]
        arrays = self.placed_later(memories)
        self.reorder(source, target, *memories)
        return Job(self.calls, arrays, self.made)

    def _elementwise(self, what: Elementwise) -> Job:
        x, one, number = self._array(what.size), self._array(1), _Float(what.number)
        self.made.arrays.append(number)
        desc = self._new("binary", what.first, x, one, x, self._then(what.then, x))
        memories = [self.memory(x), self.memory(x)]
        arrays = self.placed_later(memories)
        places = [(_SRC, memories[0]), (_SRC_1, self.memory(one, ctypes.addressof(number))), (_DST, memories[1])]
        again = [(_POST * (i + 1) | _SRC_1, memories[0]) for i, kind in enumerate(what.then) if isinstance(kind, int)]
        self.append(desc, places + again)
        return Job(self.calls, arrays, self.made)

    def _combined(self, what: Combined) -> Job:
        x, y = self._array(*what.shape), self._array(*what.other)
        memories = [self.memory(md) for md in (x, y, x)]
        arrays = self.placed_later(memories)
        desc = self._new("binary", what.kind, x, y, x, self.library.attributes)
        self.append(desc, list(zip((_SRC, _SRC_1, _DST), memories)))
        return Job(self.calls, arrays, self.made)

    def _then(self, kinds: Sequence[int | tuple[int, float, float]], operand: _P) -> _P:
        """Attributes of a primitive after which these are done, with further operands or alone."""
        made, attributes = self.made.new("post_ops"), self.made.new("primitive_attr")
        self.library("post_ops_create", ctypes.byref(made))
        for kind in kinds:
            if isinstance(kind, int):
                self.library("post_ops_append_binary", made, kind, operand)
            else:
                alone, alpha, beta = kind
                self.library("post_ops_append_eltwise", made, alone, _Float(alpha), _Float(beta))
        self.library("primitive_attr_create", ctypes.byref(attributes))
        self.library("primitive_attr_set_scratchpad_mode", attributes, 1)
        self.library("primitive_attr_set_post_ops", attributes, made)
        return attributes
