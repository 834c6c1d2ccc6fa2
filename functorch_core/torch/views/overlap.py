"""Which tensors lie in the same memory, and what PyTorch refuses to write to while it is read.

Writes are computed here before they are made: they would be right whatever overlaps. PyTorch's kernels write while
they read, and refuse what they see of it: an operand that lies partly in what is written to.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..tensors.base import Tensor
from .cells import check_writable, is_on_tape, layout_of
from .memory_order import dense_strides

SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor "
    "refer to a single memory location. Please clone() the tensor before performing the "
    "operation."
)
FULL, PARTIAL = "full", "partial"


def overlap(a: Tensor, b: Tensor) -> str | None:
    """FULL if both are the same memory, PARTIAL if they have a part of it in common, None if not.

    Tensors with gaps between their elements are not looked into, as in PyTorch: None.
    """
    if a is b:
        return FULL
    if a._view is None or b._view is None or a._view.cell is not b._view.cell:
        return None
    of_a, of_b = _span(a), _span(b)
    if of_a is None or of_b is None or of_a[1] <= of_b[0] or of_b[1] <= of_a[0]:
        return None
    return FULL if of_a == of_b else PARTIAL


def writes_itself(written: Tensor, source: Tensor) -> bool:
    """Whether an expanded tensor is copied to itself, or to another view of the same elements: nothing is to be done,
    where other writes to elements that share a place are refused."""
    a, b = written._view, source._view
    if a is None or b is None or a.cell is not b.cell or written._aval != source._aval:
        return False
    shape, strides, _ = layout = layout_of(written)
    return any(s == 0 and n > 1 for n, s in zip(shape, strides)) and layout == layout_of(source)


def stays_in_place(tensor: Tensor, part: Tensor) -> bool:
    """Put a part of a tensor in its own place, as x[i] += 1 does, if that changes nothing but the version; whether it
    does."""
    alias, view = tensor._view, part._view
    if alias.chain or tensor._level is not None or is_on_tape(tensor) or is_on_tape(part):
        return False
    check_writable(tensor)
    tensor._read()
    part._read()
    cell = alias.cell
    if alias.seen != cell.version or view.seen != cell.version:
        return False
    if alias.untracked:
        cell.write_quietly()
    cell.version += 1
    alias.seen = view.seen = cell.version
    return True


def is_expanded(tensor: Tensor) -> bool:
    """Whether a dimension of more than one element has no stride."""
    shape, strides, _ = layout_of(tensor)
    return 0 not in shape and any(s == 0 and n > 1 for n, s in zip(shape, strides))


def may_overlap_itself(tensor: Tensor) -> bool:
    """Whether several of a view's elements may be one place of memory: False if strides alone say that none are."""
    if tensor._view is None or not tensor._view.chain or tensor._level is not None:
        return False
    shape, strides, _ = layout_of(tensor)
    reach = 0  # of the dimensions with smaller strides: how far from its first element the last one lies
    for s, n in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        if s <= reach:
            return 0 not in shape
        reach += s * (n - 1)
    return False


def places_of(tensor: Tensor) -> np.ndarray:
    """Where in its memory each element of a tensor lies, counted in elements."""
    shape, strides, offset = layout_of(tensor)
    places = np.full(shape, offset, np.int64)
    for d, (n, s) in enumerate(zip(shape, strides)):
        places += (np.arange(n) * s).reshape((-1,) + (1,) * (len(shape) - d - 1))
    return places


def _span(x: Tensor) -> tuple | None:
    """(first byte, end, strides) of a tensor without gaps; None for others and for those without elements."""
    shape, strides, offset = layout_of(x)
    if 0 in shape or dense_strides(shape, strides) != tuple(strides):
        return None
    size = x.element_size()
    return offset * size, (offset + x.numel()) * size, tuple(strides)


def overlaps(written: Tensor, operands: Iterable) -> set[str]:
    """How the tensors among the operands, or in sequences of them, overlap the one that is written to."""
    found = set()
    for x in operands:
        if isinstance(x, (tuple, list)):
            found |= overlaps(written, x)
        elif isinstance(x, Tensor):
            found.add(overlap(written, x))
    return found - {None}


def refuse_partial(written: Tensor, source):
    """RuntimeError for a source that lies partly in what is written to."""
    if isinstance(source, Tensor) and overlap(written, source) is PARTIAL:
        raise RuntimeError(SHARED)


def refuse_shared(written: Tensor, apart: Iterable, whole: Iterable = ()):
    """RuntimeError for operands of which an element lies in what is written to; those of `whole` may be all of it."""
    if overlaps(written, apart) or PARTIAL in overlaps(written, whole):
        raise RuntimeError(SHARED)
