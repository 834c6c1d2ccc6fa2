"""The types that rules are annotated with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .aval import HasAval

Function: TypeAlias = Callable[..., Any]  # a rule, or what a user or a rule gives to be traced
Ints: TypeAlias = tuple[int, ...]  # a shape, axes, an order
Value: TypeAlias = HasAval  # computed, recorded or traced; in a transpose rule also `Linear`
ArrayLike: TypeAlias = HasAval | np.ndarray | np.generic | complex

# None stands for a zero tangent, and for "not batched". A rule is not called where all are None, so that
# one of a single operand does not look; a type cannot say that, and these elements are Any.
Tangents: TypeAlias = Sequence[Any]
Dims: TypeAlias = Sequence[Any]

# What rules return, the plural ones for primitives that are `multiple`.
Jvp: TypeAlias = tuple[Value, Value | None]
Jvps: TypeAlias = tuple[Sequence[Value], Sequence[Value | None]]
Batched: TypeAlias = tuple[Value, int | None]
Batcheds: TypeAlias = tuple[Sequence[Value], Sequence[int | None]]
Cotangents: TypeAlias = Sequence[Value | None]
