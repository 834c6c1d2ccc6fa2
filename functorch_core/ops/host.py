"""Operations whose result's shape depends on the data: computed on the host, never traced."""

from __future__ import annotations

import numpy as np

from ..core import dtypes as dt
from ..core.aval import aval_of
from ..core.errors import ConcretizationError
from ..core.trace import Traced, concrete

DATA_DEPENDENT = """{name}: the shape of its result depends on the values of x, which is traced,
    {aval}.
    {advice}."""


def is_traced(x) -> bool:
    """Whether x is a value of a graph being built."""
    return isinstance(x, Traced)


def host_array(x, name: str, advice: str) -> np.ndarray:
    """The data of a concrete value; ConcretizationError with the advice for a traced one."""
    known = concrete(x) if aval_of(x).dtype not in dt.INEXACT else x
    if known is not None:
        x = known
    if is_traced(x):
        raise ConcretizationError(DATA_DEPENDENT.format(name=name, aval=aval_of(x), advice=advice))
    array = np.asarray(x)
    if array.dtype not in dt.ALL:
        raise TypeError(f"{name} takes arrays and numbers, got {x!r:.60} ({type(x).__name__})")
    return array
