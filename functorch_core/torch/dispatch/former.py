"""Orders of arguments that PyTorch still takes, with a warning: torch.add(x, 2, y) for x + 2 * y.

An op declares them, `@torch_op(former=("input alpha other",))`, in the order of its function or of its method.
"""

from __future__ import annotations

from ...core.warn import warn_once
from ..tensors.base import Tensor
from .slots import is_number

OVERLOAD = """This overload of {name} is deprecated:
\t{name}({former})
Consider using one of the following signatures instead:
\t{name}({today})"""


def factors_first(a: str, b: str) -> tuple[str, ...]:
    """The orders of addmm and its kin, as functions and as methods."""
    return tuple([f"{first} {a} {b}" for first in ("beta input alpha", "beta input", "input beta alpha", "input beta")])


def in_order_of_today(op, args: tuple, kwargs: dict, in_place: bool = False) -> tuple[tuple, dict]:
    """The arguments as the op takes them now; TypeError if they are in no order that it ever had. `in_place`: of its
    in-place form, which is a method."""
    for form in op.traits.former:
        names = form.split()
        given = dict(zip(names, args))
        rest = [name for name in kwargs if name in names]
        if [*names[: len(args)], *rest] != names or len(args) > len(names) or not _fits(op, given):
            continue
        warn_once(_message(op, names, in_place), key="overload")
        values = {**given, **kwargs}
        positional = op.names[: op.n_positional]
        return tuple(values.pop(name) for name in positional), values
    raise TypeError(f"{op.name}() takes {op.n_positional} positional arguments but {len(args)} were given")


def _fits(op, given: dict) -> bool:
    return all(
        _is_factor(x) if op.slots[op.index[name]].reads_tensors else _is_operand(op, name, x)
        for name, x in given.items()
    )


def _is_factor(x) -> bool:
    return is_number(x) or isinstance(x, Tensor) and not x.ndim


def _is_operand(op, name: str, x) -> bool:
    return isinstance(x, Tensor) or op.slots[op.index[name]].takes_numbers and is_number(x)


def _message(op, former: list[str], in_place: bool) -> str:
    def told(names):
        return ", ".join([f"{'Number' if op.slots[op.index[n]].reads_tensors else 'Tensor'} {n}" for n in names])

    today = f"{told(op.names[in_place : op.n_positional])}, *, "
    today += ", ".join([f"Number {n} = 1" for n in op.names[op.n_positional :]])
    if in_place:
        former = [name for name in former if name != "input"]
        return OVERLOAD.format(name=f"{op.name}_", former=told(former), today=today)
    out = "Tensor out = None"
    return OVERLOAD.format(name=op.name, former=f"{told(former)}, *, {out}", today=f"{today}, {out}")
