"""torch._C._functorch: what a tensor inside a func transform stands for."""

from __future__ import annotations

import enum as _enum

from ..._missing import getter as _getter
from ...levels.levels import Batched, Dual, Taped, stack

__getattr__ = _getter(__name__)


class TransformType(_enum.IntEnum):
    """The kinds of func transforms."""

    Torch, Vmap, Grad, Jvp, Functionalize = range(5)


def _level(tensor, *kinds: type):
    level = tensor._level
    return level if isinstance(level, kinds) else None


def is_batchedtensor(tensor) -> bool:
    """Whether it is an example of a batch, inside vmap."""
    return _level(tensor, Batched) is not None


def is_legacy_batchedtensor(tensor) -> bool:
    """False: there is one vmap."""
    return False


def is_gradtrackingtensor(tensor) -> bool:
    """Whether a func transform that differentiates tracks it."""
    return _level(tensor, Dual, Taped) is not None


def is_functorch_wrapped_tensor(tensor) -> bool:
    """Whether it stands for another tensor, inside a func transform."""
    return _level(tensor, Batched, Dual, Taped) is not None


def is_functionaltensor(tensor) -> bool:
    """False: there are none."""
    return False


def get_unwrapped(tensor):
    """The tensor one level down; RuntimeError for one that stands for itself."""
    level = _level(tensor, Batched, Dual, Taped)
    if level is None:
        raise RuntimeError("No wrappers present!")
    return level.below


def maybe_get_level(tensor) -> int:
    """How deep its transform is; -1 for a tensor outside."""
    level = _level(tensor, Batched, Dual, Taped)
    if level is None:
        return -1
    return 1 + [frame.depth for frame in stack.frames].index(level.depth)


def maybe_get_bdim(tensor) -> int:
    """Its batch dimension inside vmap; -1 otherwise."""
    level = _level(tensor, Batched)
    return -1 if level is None else level.dim


def maybe_current_level() -> int | None:
    """How many transforms are being computed; None outside."""
    return len(stack.frames) or None


# ---- a dimension into another, and out of it -----------------------------------------------------


def reshape_dim_into(src: int, dst: int, x):
    """x with dimension `src` moved in front of dimension `dst` of the others and merged with it."""
    n = x.dim()
    dst = dst % (n - 1)
    moved = x.movedim(src % n, dst)
    return moved.reshape(*moved.shape[:dst], moved.shape[dst] * moved.shape[dst + 1], *moved.shape[dst + 2 :])


def reshape_dim_outof(src: int, size1: int, x):
    """x with dimension `src` split into (size1, the rest)."""
    src = src % x.dim()
    if x.shape[src] % size1:
        raise RuntimeError(f"Expected dimension {src} of size {x.shape[src]} to be divisible by {size1}")
    return x.reshape(*x.shape[:src], size1, x.shape[src] // size1, *x.shape[src + 1 :])


# ---- the fallback of vmap: every op has a rule here, so that the switches are only kept ----------


class _Fallback:
    enabled, warns = True, False


def _is_vmap_fallback_enabled() -> bool:
    """What _set_vmap_fallback_enabled has set."""
    return _Fallback.enabled


def _set_vmap_fallback_enabled(enabled: bool):
    """Kept: there is no fallback."""
    _Fallback.enabled = bool(enabled)


def _set_vmap_fallback_warning_enabled(enabled: bool):
    """Kept: there is no fallback to warn of."""
    _Fallback.warns = bool(enabled)
