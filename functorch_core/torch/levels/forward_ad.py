"""torch.autograd.forward_ad: dual numbers."""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..tape.modes import forward_mode, state
from ..tensors.types import contiguous_format, strided
from ..views.bits import bits_of
from ..views.cells import layout_of
from ..views.memory_order import dense_strides, with_strides
from .levels import Dual, at_depth, enter, wrap

NO_LEVEL = "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
SIZES = (
    "Trying to set a forward gradient that has a different size than that of the original "
    "Tensor, this is not supported. Tensor is of size {primal} while the given forward "
    "gradient is of size {tangent}."
)
TWICE = (
    "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
)
OF_DUAL = "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported."

_entered: list = []  # the one level that may be active, as its context
_depths: set[int] = set()


class UnpackedDualTensor(NamedTuple):
    """A primal and its tangent (None if it has none).

    >>> import torch.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...   fwAD.unpack_dual(fwAD.make_dual(torch.tensor(1.), torch.tensor(2.))).tangent
    tensor(2.)
    """

    primal: object
    tangent: object


def enter_dual_level() -> int:
    """Enter forward mode; RuntimeError if it is on.

    >>> import torch.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.unpack_dual(fwAD.make_dual(torch.tensor(3.), torch.tensor(1.)) ** 2).tangent
    tensor(6.)
    >>> fwAD.exit_dual_level(level=level)
    """
    if _entered:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    context = enter("jvp")
    _depths.add(context.__enter__().depth)
    state.transforms -= 1  # .backward() and requires_grad_() stay allowed
    _entered.append(context)
    return 0


def exit_dual_level(*, level: int | None = None):
    """Leave forward mode; the tangents made in it are gone.

    >>> import torch.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.exit_dual_level(level=level)
    """
    if not _entered:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != 0:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    state.transforms += 1
    _entered.pop().__exit__(None, None, None)


def is_dual_level(depth: int) -> bool:
    """Whether a level is one of this module rather than of func.jvp."""
    return depth in _depths


def _depth() -> int | None:
    return _entered[-1].frame.depth if _entered else None


class dual_level:
    """Context: forward mode.

    >>> import functorch_core.torch.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(2.), torch.tensor(1.))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor(4.)
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()

    def __call__(self, fun):
        @functools.wraps(fun)
        def wrapped(*args, **kwargs):
            with dual_level():
                return fun(*args, **kwargs)

        return wrapped


def make_dual(tensor, tangent, *, level: int | None = None):
    """A dual tensor of a primal and a tangent of its shape.

    >>> import torch.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...   y = fwAD.make_dual(torch.tensor(3.), torch.tensor(1.)) ** 2
    ...   fwAD.unpack_dual(y).tangent
    tensor(6.)
    """
    depth = _depth()
    if depth is None:
        raise RuntimeError(NO_LEVEL)
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {x.dtype}")
    if at_depth(tensor, depth) is not None:
        raise RuntimeError(TWICE)
    if tensor.shape != tangent.shape:
        raise RuntimeError(SIZES.format(primal=list(tensor.shape), tangent=list(tangent.shape)))
    if at_depth(tangent, depth) is not None:
        raise RuntimeError(OF_DUAL)
    return wrap(Dual(depth, tensor, _laid_out_as(tensor, tangent)))


def _laid_out_as(primal, tangent):
    """The tangent; a copy that lies in memory as the primal does where it lies otherwise (so that a view of one is
    the same view of the other)."""
    if primal._view is None and tangent._view is None and primal._strides is None and tangent._strides is None:
        return tangent
    if primal.layout is not strided or tangent.layout is not strided or primal.is_meta:
        return tangent
    shape, strides, _ = layout_of(primal)
    if strides == layout_of(tangent)[1] and bits_of(primal) == bits_of(tangent) and _room(primal) == _room(tangent):
        return tangent
    copy = tangent.clone(memory_format=contiguous_format)
    return with_strides(copy, strides) if dense_strides(shape, strides) == strides else copy


def _room(x) -> int:
    """The bytes of the memory that a tensor lies in; inside vmap nobody asks."""
    if x._level is not None:
        return 0
    return (x._read() if x._view is None else x._view.cell.value).aval.nbytes


def unpack_dual(tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent of a dual tensor; the tangent of another is None.

    >>> import torch.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...   primal, tangent = fwAD.unpack_dual(fwAD.make_dual(torch.tensor(3.), torch.tensor(1.)))
    ...   primal, tangent
    (tensor(3.), tensor(1.))
    """
    depth = _depth()
    if depth is None or level is not None and level < 0:
        return UnpackedDualTensor(tensor, None)
    found = at_depth(tensor, depth)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(found.primal.view_as(found.primal), found.tangent)


def describe(level) -> str:
    """How a dual tensor prints: as its primal, with the tangent."""
    text = repr(level.primal)
    return f"{text[:-1]}, tangent={level.tangent!r})"


_set_fwd_grad_enabled = forward_mode


def __getattr__(name: str):
    if name == "_current_level":  # that of PyTorch, where only level 0 exists
        return len(_entered) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_fwd_grad_enabled() -> bool:
    """Whether tangents are computed."""
    return state.forward


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
