"""In-place forms: compute, check that the result fits, assign."""

from __future__ import annotations

from collections.abc import Sequence

from ...core import dtypes as dt
from ...core.warn import warn
from ...engine.recorder import compute_after_many
from ...engine.value import SMALL
from ...interrupts import is_interrupt
from ..tape.meta import is_meta
from ..tape.modes import state
from ..tensors import types as _types
from ..tensors.active import active
from ..tensors.base import Tensor, from_array, new_tensor, of_class
from ..tensors.explain import MISTAKES, explain
from ..tensors.types import scalar_name
from ..views.cells import assign, check_overlap, check_writable, is_on_tape, layout_of, overwrite
from ..views.host_writes import is_free, number_at_hand, written_to_part
from ..views.memory_order import dense_strides, with_strides
from ..views.overlap import PARTIAL, SHARED, is_expanded, may_overlap_itself, overlaps, places_of, refuse_shared
from . import out_dtypes as _out_dtypes
from .former import in_order_of_today
from .paths import PLAIN, Runs
from .traits import CANNOT_CAST, Out

OUT_SHAPE = "output with shape {out} doesn't match the broadcast shape {shape}"
NO_HISTORY = (
    "{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
    "requires grad."
)
NO_TANGENT = "Trying to use forward AD with {name}_out that does not support it because it is an out= function"
RESIZED = (
    "An output with one or more elements was resized since it had shape {old}, which does not "
    "match the required output shape {new}. This behavior is deprecated, and in a future "
    "PyTorch release outputs will not be resized unless they have zero elements. You can "
    "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
    "t.resize_(0)."
)

EXPANDED = (
    "Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
    "This also applies to advanced indexing e.g. tensor[{how}"
)


def fitted(tensor: Tensor, result: Tensor) -> Tensor:
    """The result in the tensor's dtype; RuntimeError if category or shape do not allow it."""
    wanted, found = tensor._value.aval, result._value.aval
    if found is wanted and tensor._level is None and result._level is None:
        return result
    if found.dtype != wanted.dtype:
        if dt.category(found.dtype) > dt.category(wanted.dtype):
            raise RuntimeError(CANNOT_CAST.format(found=scalar_name(found.dtype), wanted=scalar_name(wanted.dtype)))
        result = result.to(_types.of_numpy(wanted.dtype))
    if tensor.shape != result.shape:
        raise RuntimeError(OUT_SHAPE.format(out=list(tensor.shape), shape=list(result.shape)))
    return result


def inplace(op, tensor: Tensor, args, kwargs) -> Tensor:
    """tensor.op_(*args): the op's result assigned to the tensor."""
    try:
        if op.traits.out.places is not None and may_overlap_itself(tensor):
            return _write_at_places(op, tensor, args, kwargs)
        check_writable(tensor, op.traits.out.idempotent, op=op.name)
        if tensor._view is not None or op.apart:
            check_memory(op, tensor, (tensor, *args), kwargs, True)
        if op.traits.former and len(args) >= op.n_positional:
            (_, *args), kwargs = in_order_of_today(op, (tensor, *args), kwargs, True)
        operand = _apart(tensor) if state.saved_hooks and tensor._level is None else tensor
        return assign(tensor, fitted(tensor, op(operand, *args, **kwargs)), checked=True)
    except MISTAKES as error:
        explain(error)
        raise


def inplace_again(runs: Runs, tensor: Tensor, args: tuple) -> bool:
    """Whether tensor.op_(*args) was seen before (by the op's `runs`), and has happened: of operands that share no
    memory, off the tape, while nothing is active."""
    run = runs.find((tensor, *args))
    if run is None or not is_free(tensor):
        return False
    for x in args:
        if x.__class__ in PLAIN and not _is_beside(x, tensor):
            return False
    try:
        made = run(tensor, *args)
    except Exception as error:
        if is_interrupt(error):
            raise
        return False  # said by the way of all calls
    if made is None or made._value.aval is not tensor._value.aval:
        return False
    _put(tensor, made)
    return True


def _write_at_places(op, tensor: Tensor, args, kwargs) -> Tensor:
    """What an op writes to some elements of a tensor, written to their places in the tensor's memory."""
    refuse_shared(tensor, *op.traits.out.beside(tensor, *args, **kwargs))
    at, values, accumulate = op.traits.out.places(from_array(places_of(tensor)), tensor, *args, **kwargs)
    if is_expanded(tensor):
        warn(EXPANDED.format(name=op.name, how="indices] = tensor" if op.name == "index_put" else "mask] = scalar"))
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    tensor.as_strided((size,), (1,), 0).index_put_((at,), values, accumulate)
    return tensor


def inplace_by_one(runs: Runs, tensor: Tensor, x) -> bool:
    """The same of one argument besides (0.3 us less)."""
    cls = tensor.__class__
    run = runs.after_tensor.get(x.__class__) if cls is Tensor else runs.get((cls, x.__class__))
    if run is None or not is_free(tensor):
        return False
    if x.__class__ is not float and x.__class__ is not int and x is not tensor:
        if x.__class__ in PLAIN and not _is_beside(x, tensor):
            return False
    try:
        made = run(tensor, x)
    except Exception as error:
        if is_interrupt(error):
            raise
        return False  # said by the way of all calls
    if made is None:
        return False
    value = made._value
    if value.aval is not tensor._value.aval:
        return False
    if tensor._view is None:  # as `overwrite` does
        tensor._value = value
        tensor._own_version += 1
    else:
        _put(tensor, made)
    return True


def _put(tensor: Tensor, made: Tensor):
    """Give a tensor that is apart, or a view that is open, other numbers, of its shape and dtype."""
    if tensor._view is None or not tensor._view.chain:
        overwrite(tensor, made._value)
        return
    number = number_at_hand(made)
    if number is None or not written_to_part(tensor, None, number, made._value):
        assign(tensor, made, checked=True)
        if tensor._view.cell.value.aval.nbytes < SMALL:
            compute_after_many()


def _is_beside(x: Tensor, tensor: Tensor) -> bool:
    """Whether a tensor off the tape is another's, or shares no memory with it."""
    if x is tensor:
        return True
    view = x._view
    if view is None:
        return x._ge is None
    return not is_on_tape(x) and (tensor._view is None or view.cell is not tensor._view.cell)


def _apart(tensor: Tensor) -> Tensor:
    """The tensor as it is now: saved by the op that overwrites it, it is given to the user's hooks."""
    return of_class(new_tensor(tensor._kept(), tensor._ge), type(tensor))


def check_memory(op, written: Tensor | Sequence, args: tuple, kwargs: dict, in_place: bool = False):
    """RuntimeError if what an op writes to, as `out` or in place, shares memory with an operand as PyTorch's
    kernel does not allow it."""
    if isinstance(written, (tuple, list)):
        for x in written:
            check_memory(op, x, args, kwargs)
        return
    taken, rest = op.traits.out, (*args[1:], *kwargs.values())
    if in_place and taken.beside is not None:
        refuse_shared(written, *taken.beside(*args, **kwargs))
        return
    if not taken.apart:
        found = overlaps(written, (*args[:1], *rest)) & {PARTIAL}
        refused = taken.whole and not in_place or taken.whole is None and found and op.is_pointwise(args, kwargs)
    elif op.forms["inplace"]:  # the first operand is read before
        found, refused = overlaps(written, rest) | (overlaps(written, args[:1]) & {PARTIAL}), True
    else:
        found, refused = overlaps(written, (*args[:1], *rest)), True
    if found and refused:
        raise RuntimeError(SHARED)


def check_outs(name: str, out, result):
    """TypeError unless `out` is a tensor, or as many as the results are."""
    several = not isinstance(result, Tensor)
    if several and isinstance(out, (tuple, list)) and all(isinstance(x, Tensor) for x in out):
        if len(out) == len(result):
            return
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors, not of {len(out)}")
    if several or not isinstance(out, Tensor):
        module = f"{type(out).__module__}." if type(out).__module__ == "numpy" else ""
        wanted = "tuple of Tensors" if several else "Tensor"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {module}{type(out).__name__}")


def write(name: str, out: Tensor, result: Tensor, taken: Out, part: int = 0) -> Tensor:
    """out=: the result assigned to `out`, which is resized if its shape differs; `part` is the
    place of this one among several results."""
    if not isinstance(out, Tensor):
        check_outs(name, out, result)
    if active.levels is not None and any(active.levels.is_dual(x) for x in (out, result)):
        raise NotImplementedError(NO_TANGENT.format(name=name))
    if state.enabled and (out.requires_grad or result.requires_grad and not taken.recorded):
        raise RuntimeError(NO_HISTORY.format(name=name))
    if is_meta(result) != is_meta(out):
        raise RuntimeError(
            f"Attempting to copy from device {result.device} to device {out.device}, "
            "but cross-device copies are not allowed!"
        )
    found, wanted = result._value.aval, out._value.aval
    if found.dtype != wanted.dtype:
        _out_dtypes.check(name, taken, found.dtype, wanted.dtype, part, not found.ndim)
        result = result.to(_types.of_numpy(wanted.dtype))
    if out._view is not None and out._view.chain and not taken.overlapping:
        check_overlap(out)
    if out.shape != result.shape:
        if taken.counted and out.numel() == result.numel():
            result = result.reshape(out.shape)
        else:
            _resize(out, result, taken)
    return assign(out, result, captured=True)


def _resize(out: Tensor, result: Tensor, taken: Out):
    """Give `out` the shape and the order in memory of the result."""
    if out.numel() and not taken.silent:
        warn(RESIZED.format(old=list(out.shape), new=list(result.shape)))
    out.resize_(result.shape)
    if result._view is not None and result._view.is_permuted():
        shape, strides, _ = layout_of(result)
        if out._view is None:
            with_strides(out, strides)
        elif dense_strides(shape, strides) == strides:
            out.set_(out.untyped_storage(), out.storage_offset(), shape, strides)
