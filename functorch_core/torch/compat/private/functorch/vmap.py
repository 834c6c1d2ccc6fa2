"""torch._functorch.vmap."""

from collections.abc import Callable

from .... import _missing
from ....levels.levels import Batched, at_depth, enter, is_wrapper, wrap
from ....levels.vmap import vmap
from ....tensors.base import Tensor
from ....tensors.pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["Tensor", "restore_vmap", "tree_flatten", "tree_unflatten", "vmap"]
__getattr__ = _missing.getter(__name__)


def _get_name(func: Callable) -> str:
    """What a function is called in errors."""
    return getattr(func, "__name__", None) or repr(func)


def restore_vmap(func: Callable, in_dims, batch_size: int, randomness: str) -> Callable:
    """A vmap of `batch_size` examples that also says where the batch is: (outputs, their batch dimensions, None for
    what is no batch)."""

    def wrapped(*args, **kwargs):
        flat, spec = tree_flatten(args)
        dims = _broadcast_to_and_flatten(in_dims, spec)
        with enter("vmap", batch_size, randomness) as frame:
            inputs = [
                x if d is None else wrap(Batched(frame.depth, batch_size, x, d % x.dim())) for x, d in zip(flat, dims)
            ]
            outs, out_spec = tree_flatten(func(*tree_unflatten(inputs, spec), **kwargs))
            levels = [at_depth(y, frame.depth) if is_wrapper(y) else None for y in outs]
        found = [y if level is None else level.inner for y, level in zip(outs, levels)]
        found_dims = [None if level is None else level.dim for level in levels]
        return tree_unflatten(found, out_spec), tree_unflatten(found_dims, out_spec)

    return wrapped
