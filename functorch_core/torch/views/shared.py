"""Memory that a cell shares with others: NumPy arrays, buffers, other processes.

The truth of such a cell is that memory. Who reads it takes what is there at the time of the call, who
writes to it writes at once. It is an ordinary cell again when nobody else holds the memory, which is looked
at when the cell is used.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from functools import partial
from sys import getrefcount

import numpy as np

from ...core import dtypes as dt
from ...core.aval import Aval, aval
from ...engine import Value, from_numpy, to_numpy
from ...engine.again import NAMED
from ...engine.value import Copied, live
from ...locks import RLock
from ..tensors.active import active
from ..tensors.base import Tensor, new_tensor
from .bits import check_array, resolved
from .cells import Alias, Cell, based_on, getter, make_view, share
from .files import File
from .lenses import Lens
from .strides import contiguous_strides

SNAPSHOT = 1 << 16  # bytes; less is copied when it is read, more when an op needs it
_lock = RLock()  # of those who write to memory and those who give it up
os.register_at_fork(after_in_child=lambda: globals().update(_lock=RLock()))


class Unsure(int):
    """A version that may be another already: it equals none."""

    __slots__ = ()

    def __eq__(self, other):
        return False

    def __ne__(self, other):
        return True

    def __add__(self, other):
        return Unsure(int(self) + other)

    __hash__ = int.__hash__


class Memory:
    """Bytes on the host that a cell of this aval lies in, with these strides (in bytes; None: contiguous).

    `source` is a contiguous array of them; `lasting` says whether others may know of them whom its count of
    references does not tell, `addressed` whether somebody asked for the address. `file` is what it is a map
    of, if processes share it. `plain` is memory whose array is the source; `copied` keeps the last copy of
    a large one.
    """

    __slots__ = ("source", "aval", "strides", "plain", "lasting", "addressed", "file", "copied")

    def __init__(self, source: np.ndarray, a: Aval, strides, lasting: bool = False, file: File | None = None):
        self.source = source if source.dtype.isbuiltin == 1 else source.view(np.uint8)  # the others are no buffers
        self.aval, self.strides, self.addressed, self.file = a, strides, False, file
        self.plain = strides is None and self.source.shape == a.shape and self.source.dtype == a.dtype
        self.copied = Copied() if a.nbytes > SNAPSHOT else None
        owner = source if source.base is None else source.base
        self.lasting = lasting or owner.__class__ is not np.ndarray or not owner.flags.owndata

    def is_held(self) -> bool:
        """Whether anybody else may write to it."""
        if self.lasting or getrefcount(self.source) > ALONE:
            return True
        return self.source.base is not None and getrefcount(self.source.base) > ALONE

    def whole(self) -> np.ndarray:
        """The memory as an array in the cell's shape."""
        if self.plain:
            return self.source.view()
        return np.ndarray(self.aval.shape, self.aval.dtype, self.source, 0, self.strides)

    def part(self, alias: Alias, dtype: np.dtype) -> np.ndarray:
        """The memory that an alias shows, as an array of a dtype."""
        if not alias.chain:
            return self.whole()
        shape, strides, offset = alias.layout()
        if 0 in shape:
            return np.empty(shape, dtype)
        size = dtype.itemsize
        return np.ndarray(shape, dtype, self.source, offset * size, tuple([s * size for s in strides]))

    def shown(self, alias: Alias, dtype: np.dtype) -> np.ndarray:
        """The numbers that an alias shows: in the memory itself, unless they are conjugates or negated."""
        return resolved(self.part(alias, dtype), alias)

    def copy_of(self, alias: Alias, a: Aval) -> np.ndarray:
        """A contiguous copy of what an alias shows, of this aval."""
        if self.plain and not alias.chain:
            return self.source.copy()
        return np.array(self.shown(alias, a.dtype), order="C")


_nobody = Memory(np.empty(1), aval((1,), np.dtype(float)), None)
ALONE = getrefcount(_nobody.source)  # 2: of an attribute and of the call that asks
_value = Cell.value  # where it is kept


class SharedCell(Cell):
    """A cell in the memory of its slot `memory`, that others may write to, too.

    Its `version` counts the writes through tensors; it is an `Unsure`, because others do not count.
    """

    __slots__ = ()
    shared = True

    @property
    def value(self) -> Value:
        """What is in the memory now."""
        if not self.memory.is_held():
            give_up(self)
            return self.value
        return self.shown(Alias(self, (), None), self.memory.aval)

    @value.setter
    def value(self, value: Value):
        self._store(value)

    def shown(self, alias: Alias, a: Aval) -> Value:
        """What an alias shows now; of much, only when it is used."""
        if a.nbytes > SNAPSHOT:
            return live(a, partial(self.memory.shown, alias, a.dtype), None if alias.chain else self.memory.copied)
        value = Value()
        value.aval, value.data, value.recording = a, self.memory.copy_of(alias, a), None
        return value

    def _store(self, value: Value, alias: Alias | None = None):
        array = to_numpy(value)
        with _lock:
            if not self.memory.source.flags.writeable:
                move(self)
            memory = self.memory
            if alias is None:
                np.copyto(memory.whole(), array)
            else:
                np.copyto(memory.part(alias, value.aval.dtype), resolved(array, alias))
            if alias is None and memory.copied is not None:
                memory.copied.value = value

    def update(self, old: Value, value: Value):
        """Write what was computed of an old value: where other processes have written meanwhile, the
        difference is added, so that no step of theirs is lost."""
        memory = self.memory
        if memory.copied is not None:
            old = memory.copied.value or old  # a live value is never an operand itself
        if memory.file is None or value.aval.dtype not in dt.INEXACT:
            self.value = value
            return
        array, before = to_numpy(value), to_numpy(old)
        with _lock, memory.file.locked():
            place = memory.whole()
            if place.tobytes() == before.tobytes():
                np.copyto(place, array)
            else:
                np.add(place, array - before, out=place)

    def show(self, tensor: Tensor, alias: Alias) -> Value:
        """What an alias shows, as in Cell.show."""
        memory = self.memory
        if not memory.is_held():
            give_up(self)
            return alias.read(tensor)
        root = alias.root()
        if root is not None and root._ge is not None or alias.source is not None or tensor._ge is not None:
            if int(alias.seen) != int(self.version):
                return super().show(tensor, alias)  # its history is another, too
        if alias.chain or not memory.plain or memory.copied is not None:
            value = tensor._value = self.shown(alias, tensor._value.aval)
            return value
        value = Value()  # the usual case, 0.2 us quicker
        value.aval, value.data, value.recording = memory.aval, memory.source.copy(), None
        tensor._value = value
        return value

    def make_view(self, tensor: Tensor, lens: Lens, known=None) -> Tensor:
        """A view of a tensor without history; what it shows is read when somebody asks. `known`: what such a call was
        found to be, a `seen.Seen`."""
        if not self.memory.is_held():
            give_up(self)
            return make_view(tensor, lens)
        alias = tensor._view
        view = Alias(self, (*alias.chain, lens), *based_on(tensor, alias), alias.untracked)
        if known is None:
            a = getter((lens.static,), tensor._value.aval).unit.out_aval
        else:
            a, view.permuted = known.unit.out_aval, True if known.permuting else alias.permuted
            view.contiguous = known.contiguous if alias.contiguous else None
        out = new_tensor(live(a, partial(self.memory.shown, view, a.dtype)))
        out._view = view
        return out

    def write(self, alias: Alias, value: Value):
        """Put a value where an alias looks."""
        self._store(value, alias)


# ---- beginning and end ---------------------------------------------------------------------------------


def tensor_of(array: np.ndarray, lasting: bool = False) -> Tensor:
    """A tensor in the memory of an array, which has a dtype of ours and no negative strides."""
    if not array.size:
        return new_tensor(from_numpy(np.array(array)))
    if array.__class__ is not np.ndarray:
        array = array.view(np.ndarray)
    if array.flags.c_contiguous:
        return tensor_in_cell(_cell_in(array, aval(array.shape, array.dtype), None, lasting))
    strides = tuple([s // array.itemsize for s in array.strides])
    turned = array.transpose(sorted(range(array.ndim), key=lambda d: -strides[d]))
    if turned.flags.c_contiguous:
        return tensor_in_cell(_cell_in(turned, aval(array.shape, array.dtype), strides, lasting))
    n = 1 + sum([(size - 1) * s for size, s in zip(array.shape, strides)])
    cell = _cell_in(_span(array, n * array.itemsize), aval((n,), array.dtype), None, lasting)
    return cell.make_view(tensor_in_cell(cell), Lens("as_strided", (array.shape, strides, 0, (n,), (1,), 0)))


def _span(array: np.ndarray, nbytes: int) -> np.ndarray:
    """The bytes of memory from the first element of an array on."""
    owner = array.base
    if owner.__class__ is np.ndarray and owner.flags.forc:
        flat = owner.reshape(-1, order="A").view(np.uint8)
        start = array.ctypes.data - owner.ctypes.data
        return flat[start : start + nbytes]
    span = np.lib.stride_tricks.as_strided(array, (nbytes // array.itemsize,), (array.itemsize,))
    return span.view(np.uint8)


def writable(array: np.ndarray) -> np.ndarray:
    """An array of the same memory that can be written to: for memory whose owner allows it."""
    if array.flags.writeable or not array.size:
        return array
    n = array.itemsize + sum([(size - 1) * s for size, s in zip(array.shape, array.strides)])
    block = (ctypes.c_char * n).from_address(array.ctypes.data)
    block.owner = array  # lives as long
    return np.ndarray(array.shape, array.dtype, block, 0, array.strides)


def _cell_in(source: np.ndarray, a: Aval, strides, lasting: bool, file: File | None = None) -> SharedCell:
    """A cell in memory, of strides in elements (None: contiguous)."""
    cell = SharedCell.__new__(SharedCell)
    cell.shape, cell.strides = a.shape, strides or contiguous_strides(a.shape)
    cell.quiet, cell.unseen, cell.born, cell.strided = None, 0, active.births, strides is not None
    cell.version = Unsure()
    cell.memory = Memory(source, a, strides and bytes_of(strides, a), lasting, file)
    return cell


def tensor_in_cell(cell: Cell) -> Tensor:
    """A tensor that shows a cell as a whole."""
    out = new_tensor(live(cell.memory.aval, cell.memory.whole) if cell.shared else cell.value)
    alias = out._view = Alias(cell, (), None)
    if not cell.strided:
        alias.permuted, alias.contiguous = False, True
    return out


def array_of_tensor(tensor: Tensor) -> np.ndarray:
    """An array in the memory of a tensor on the host, which is shared from now on."""
    if tensor._view is None and tensor._strides is None and not active.births and tensor._value.aval.size:
        return _array_of_fresh(tensor)
    alias = share(tensor)
    cell, a = alias.cell, tensor._value.aval
    if alias.chain:
        check_array(alias)
    if cell.shared:
        if not cell.memory.source.flags.writeable:
            move(cell)
    else:
        open_up(cell)
        if a.nbytes > SNAPSHOT:
            tensor._value = cell.shown(alias, a)
    return cell.memory.part(alias, a.dtype)


def _is_alone(holders: int, value: Value, data: np.ndarray, waited: bool) -> bool:
    """Whether nobody but a value that nobody else has knows of its array, which so many hold, and of the memory;
    `waited`: the array was computed to be read, so that no program is reading it."""
    if data.dtype.isbuiltin != 1:
        return False
    if value.data is not data:  # a buffer: of the value and its array
        buffer = value.data
        return waited and getrefcount(buffer) == NAMED + 2 and data.flags.c_contiguous
    if holders != NAMED + 1 or not data.flags.carray:
        return False
    owner = data.base
    if owner is None:
        return data.flags.owndata
    return owner.__class__ is np.ndarray and owner.flags.owndata and getrefcount(owner) == NAMED + 1


def _array_of_fresh(tensor: Tensor) -> np.ndarray:
    """The same for a tensor that shares nothing yet, as the result of an op: 0.8 us quicker."""
    a, value = tensor._value.aval, tensor._value
    waited = value.recording is not None
    data = to_numpy(value)
    # Counted here: what is passed on has one more holder where another evaluates the frames. + 1: the tensor, or the
    # value.
    if a.nbytes > SNAPSHOT and getrefcount(value) == NAMED + 1 and _is_alone(getrefcount(data), value, data, waited):
        cell = _cell_in(writable(data), a, None, False)
        cell.memory.lasting = False
    else:
        cell = _cell_in(np.array(data, order="C"), a, None, False)
    cell.version = Unsure(tensor._own_version)
    alias = tensor._view = Alias(cell, (), None)
    alias.permuted, alias.contiguous = False, True
    if a.nbytes > SNAPSHOT:  # the numbers are twice there, but not thrice
        tensor._value = cell.shown(alias, a)
    return cell.memory.whole()


def bytes_of(strides, a: Aval) -> tuple[int, ...]:
    """Strides in elements as strides in bytes."""
    return tuple([s * a.dtype.itemsize for s in strides])


def open_up(cell: Cell):
    """Let a cell lie in memory of its own that can be shared."""
    memory = _memory_of(cell) or memory_for(cell)
    np.copyto(memory.whole(), to_numpy(cell.value))
    _lie_in(cell, memory)


def _lie_in(cell: Cell, memory: Memory):
    """Let memory be the truth of a cell."""
    cell.memory = memory
    if not cell.shared:
        _value.__delete__(cell)
        cell.__class__, cell.version = SharedCell, Unsure(cell.version)


def memory_for(cell: Cell) -> Memory:
    """Fresh memory for a cell."""
    a, n, strides = _needs(cell)
    return Memory(np.empty(n, np.uint8), a, strides)


def _needs(cell: Cell) -> tuple[Aval, int, tuple | None]:
    """The aval, the number of bytes and the strides of memory for a cell."""
    a = cell.memory.aval if cell.shared else cell.value.aval
    span = 1 + sum([(n - 1) * s for n, s in zip(cell.shape, cell.strides)]) if a.size else 0
    return a, span * a.dtype.itemsize, bytes_of(cell.strides, a) if cell.strided else None


def _memory_of(cell: Cell) -> Memory | None:
    found = getattr(cell, "memory", None)
    return found if found.__class__ is Memory else None


def move(cell: SharedCell):
    """Let a cell that lies in read-only memory have its own, which can be written to."""
    old = cell.memory
    cell.memory = memory_for(cell)
    np.copyto(cell.memory.whole(), old.whole())


def address_of(cell: Cell) -> int:
    """Where the cell's elements lie: from now on always there."""
    memory = _memory_of(cell)
    if not cell.shared:
        memory = cell.memory = memory or memory_for(cell)
        np.copyto(memory.whole(), to_numpy(cell.value))
    memory.addressed = True
    return memory.source.ctypes.data if memory.source.size else 0


def give_up(cell: Cell):
    """Let a cell be an ordinary one: nobody else holds its memory."""
    with _lock:
        memory = cell.memory
        if not cell.shared or memory.is_held():
            return
        whole = memory.whole()
        value = from_numpy(np.array(whole, order="C") if memory.addressed or not whole.flags.c_contiguous else whole)
        cell.__class__ = Cell
        cell.write_quietly()
        cell.value, cell.version = value, int(cell.version) + 1
        if not memory.addressed:
            del cell.memory


# ---- between processes ---------------------------------------------------------------------------------

_cells: weakref.WeakValueDictionary[tuple, Cell] = weakref.WeakValueDictionary()  # by their files


def file_of(cell: Cell) -> File:
    """The file that a cell lies in, which other processes can map: made if it has none."""
    memory = cell.memory if cell.shared else None
    if memory is None or memory.file is None:
        a, n, strides = _needs(cell)
        file = File.fresh(n)
        memory = Memory(file.bytes(), a, strides, True, file)
        np.copyto(memory.whole(), to_numpy(cell.value))
        _lie_in(cell, memory)
        _cells[file.identity] = cell
    return memory.file


def cell_in(file: File, a: Aval, strides=None) -> Cell:
    """The cell in the memory of a file: one, however often the file came from another process."""
    found = _cells.get(file.identity)
    if found is None or found.memory.aval is not a:
        found = _cells[file.identity] = _cell_in(file.bytes(), a, strides, True, file)
    return found


def is_in_file(cell: Cell) -> bool:
    """Whether other processes may share the memory."""
    return cell.shared and cell.memory.file is not None
