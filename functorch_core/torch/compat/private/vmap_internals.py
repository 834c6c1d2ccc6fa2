"""torch._vmap_internals: vmap under the names it had before torch.func."""

from __future__ import annotations

import functools

from ....core.warn import warn
from ...levels.vmap import Vmap
from ...levels.vmap import vmap as _new_vmap

DEPRECATED = (
    "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`. You are currently using the deprecated, now "
    "unsupported version."
)


def vmap(func, in_dims=0, out_dims=0):
    """Deprecated: torch.vmap."""
    warn(DEPRECATED, FutureWarning)
    return _new_vmap(func, in_dims, out_dims)


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through: bool = False):
    """torch.vmap; results may be None where that is allowed."""
    if not allow_none_pass_through:
        return _new_vmap(func, in_dims, out_dims)
    return functools.wraps(func)(
        lambda *args, **kwargs: Vmap(func, in_dims, out_dims, "error", None, none_passes=True)(args, kwargs)
    )
