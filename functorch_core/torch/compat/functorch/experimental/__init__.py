"""functorch.experimental: what has become torch.func."""

from ....levels.derivatives import jvp
from ....levels.vmap import vmap
from ....operators.func.jacobians import hessian, jacfwd
from ....operators.func.modules import functionalize, replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks: int = 2):
    """vmap over a batch in `chunks` parts, one after the other."""

    def wrapped(*args, **kwargs):
        size = _batch_size(args, in_dims)
        chunk = -(-size // chunks)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk)(*args, **kwargs)

    return wrapped


def _batch_size(args, in_dims) -> int:
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
    return next(x.shape[dim] for x, dim in zip(args, dims) if dim is not None)
