"""Parts of computed tensors, x[index], cut out by NumPy while ops are computed at once.

What x[index] shows is there without a lens; which lens it is, is found out when somebody asks: a
write, a transform, strides.
"""

from __future__ import annotations

from collections.abc import Callable

from ...core.aval import Aval, aval
from ...engine.at_once import computed, host_array, value_of
from ..tape.modes import state
from ..tensors.active import active
from ..tensors.base import Tensor, new_tensor
from .cells import Alias, based_on, is_on_tape, share
from .lenses import Lens


class PartAlias(Alias):
    """The alias of a part; find(shape, index) is its lens."""

    __slots__ = ("_before", "_find", "_shape", "_index", "_chain")

    def __init__(self, tensor: Tensor, find: Callable[[tuple, object], Lens], index, contiguous: bool):
        alias = tensor._view or share(tensor)
        self.cell = cell = alias.cell
        self.seen, self.untracked = cell.version, alias.untracked
        self.base, self.skip, self.source = based_on(tensor, alias)
        self.refuses, self.written, self.earlier = None, False, alias.earlier
        self.permuted = alias.permuted is not False and alias.is_permuted()
        self.contiguous = contiguous and (alias.contiguous or alias.is_contiguous())
        self._before, self._chain = alias, None
        self._find, self._shape, self._index = find, tensor._value.aval.shape, index

    @property
    def chain(self) -> tuple[Lens, ...]:
        """The lenses it looks through."""
        if self._chain is None:
            self._chain = (*self._before.chain, self._find(self._shape, self._index))
            self._before = None
        return self._chain


def cut(tensor: Tensor, index, find: Callable[[tuple, object], Lens]) -> Tensor | None:
    """x[index] where it is cut out by NumPy, else None: of integers, slices, None and `...`, of a
    tensor without history, while ops are computed at once."""
    if tensor._level is not None or is_on_tape(tensor) or (active.marks_inference and state.inference):
        return None
    if tensor._view is not None and tensor._view.cell.shared:
        return None
    value = tensor._value if tensor._view is None else tensor._read()
    array = host_array(value)
    if array is None or index.__class__ is not int and not is_basic(index):
        return None
    try:  # ... lets a single element be an array, too
        part = array[(*index, ...) if index.__class__ is tuple else (index, ...)]
    except IndexError:  # out of bounds, or a second ...: PyTorch's message is found elsewhere
        return None
    if index.__class__ is int:
        out = new_tensor(computed(rows.get(value.aval) or _row_of(value.aval), part))
    else:
        out = new_tensor(value_of(part))
    out._view = PartAlias(tensor, find, index, part.flags.c_contiguous)
    return out


rows: dict[Aval, Aval] = {}


def _row_of(a: Aval) -> Aval:
    """The aval of x[0]."""
    return rows.setdefault(a, aval(a.shape[1:], a.dtype))


def is_basic(index) -> bool:
    """Whether an index makes the same view of NumPy arrays and of tensors."""
    for x in index if index.__class__ is tuple else (index,):
        cls = x.__class__
        if cls is slice:
            if not (x.step is None and _is_plain(x.start) and _is_plain(x.stop)):
                return False
        elif cls is not int and x is not None:
            return False
    return True


def _is_plain(bound) -> bool:
    return bound is None or bound.__class__ is int
