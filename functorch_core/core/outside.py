"""What a trace meets from outside: the engine, which asks a traced value what it asks of its own, and the PyTorch face,
in whose modes a user's function is traced."""

from __future__ import annotations

import contextlib
from typing import Any, NoReturn, Self

import numpy as np

from .aval import HasAval
from .dtypes import INEXACT
from .types import Function
from .unknown import not_known


class InTrace(Exception):
    """A traced value was to be an operand of a call that is recorded: that belongs into the trace."""


class OfTrace:
    """In the place of the recording that values of the engine have (see engine.value), for a traced one."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def enter(self, into: Any, value: Any) -> NoReturn:
        """InTrace."""
        raise InTrace

    def flush(self, why: str = "", tier: str | None = None) -> None:
        """ConcretizationError, unless the elements are known all the same; see known_data."""
        known_data(self.value)


def known_data(x: Any) -> np.ndarray:
    """The elements of a traced value where an eager derivative knows them, of integers and booleans, which have no
    derivative; ConcretizationError of others."""
    known = None if x.aval.dtype in INEXACT else x.builder.value_of(x)
    if known is None:
        raise not_known("reading its elements", x)
    return np.asarray(known)


class AskedByEngine(HasAval):
    """A traced value: what the engine asks of its own values it may ask of these, too, as a tensor holds either."""

    __slots__ = ()
    recording = property(OfTrace)
    data = property(known_data)


class Noting:
    """A builder: what its trace has read that may be another when its graph runs, if somebody wants to know, by id:
    (the tensor, the value that it had). What is marked with less than `depth` was there before the trace."""

    noted: dict[int, tuple[Any, Any]] | None = None
    depth = 0
    arguments: tuple[Function, Function] | None = None  # the traced function, and what its i-th input is called

    def noting(self, noted: dict[int, tuple[Any, Any]] | None) -> Self:
        """The builder itself, which from now on fills `noted`."""
        self.noted = noted
        return self


class Surroundings:
    """What a function runs in while it is traced: set by the PyTorch face, where that is loaded."""

    enter: Function = contextlib.nullcontext


surroundings = Surroundings()
