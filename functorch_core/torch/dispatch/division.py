"""Ops that divide: integers by zero are an error."""

from __future__ import annotations

import numpy as np

from ...core import dtypes as dt
from ...engine.bounds import check_nonzero
from ..tape.meta import is_meta
from ..tensors.base import Tensor
from ..tensors.explain import MISTAKES, explain
from .bounds import at_bottom
from .op import TorchOp
from .paths import Runs

WHOLE = dt.INTEGER | {dt.bool_}


class Division(TorchOp):
    """An op of which the second operand must not be zero where the result is of integers."""

    def __init__(self, *args, **forms):
        super().__init__(*args, **forms)
        if "rounding_mode" not in self.index:
            self.runs = _ByNumbers()  # other calls are looked at below, each time
        self.runs.named = _Nothing()  # as are those with names, rounding_mode among them

    def call(self, args: tuple, kwargs: dict):
        """The op of these arguments, whom nothing overrides; RuntimeError, perhaps later, for a zero."""
        if "rounding_mode" not in self.index or kwargs.get("rounding_mode") is not None:
            try:
                x, y = [*args, *[kwargs[name] for name in ("input", "other")[len(args) :]]][:2]
                check_divisor(self.name, x, y)
            except (KeyError, ValueError):
                pass  # operands that are missing or do not fit: said below
            except MISTAKES as error:
                explain(error)
                raise
        return super().call(args, kwargs)


class _Nothing(dict):
    """What keeps nothing."""

    def __setitem__(self, key, value):
        pass


class _ByNumbers(Runs):
    """What keeps how a tensor is divided by a float, and by an int that no dtype takes for 0."""

    def __setitem__(self, classes, run):
        if classes == (Tensor, float):
            super().__setitem__(classes, run)
        elif classes == (Tensor, int):
            super().__setitem__(classes, lambda x, y: run(x, y) if 0 < y < 128 else None)


def check_divisor(name: str, x, y):
    """RuntimeError, perhaps later, where integers are divided by zero. ValueError if the operands have
    no common shape."""
    if y.__class__ is float or not (_is_whole(x) and _is_whole(y)) or _is_bool(x) and _is_bool(y):
        return
    shapes = [z._aval.shape for z in (x, y) if isinstance(z, Tensor)]
    if any(0 in shape for shape in shapes) or len(shapes) == 2 and 0 in np.broadcast_shapes(*shapes):
        return
    if isinstance(y, Tensor):
        check_nonzero(at_bottom(y), _failure, name)
    elif not int(y) & _ones(x) and not (isinstance(x, Tensor) and is_meta(x)):
        raise _failure()


def _ones(x) -> int:
    """The bits that a divisor has in the dtype of integers: what wraps to 0 is 0."""
    whole = isinstance(x, Tensor) and x._aval.dtype in dt.INTEGER
    return (1 << 8 * (x._aval.dtype.itemsize if whole else 8)) - 1


def _is_whole(x) -> bool:
    return x._aval.dtype in WHOLE if isinstance(x, Tensor) else isinstance(x, (int, np.integer))


def _is_bool(x) -> bool:
    return x._aval.dtype == dt.bool_ if isinstance(x, Tensor) else isinstance(x, bool)


def _failure(zero: int = 0) -> Exception:
    return RuntimeError("ZeroDivisionError")
