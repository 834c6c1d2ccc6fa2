"""torch.func.vmap: a function of one example applied to a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ..tensors.active import active
from ..tensors.base import Tensor
from ..tensors.pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .levels import Batched, batched_at, enter, wrap
from .writes import in_memory_of

BAD_RANDOMNESS = "Only allowed values for randomness are 'error', 'different', or 'same'. Got {}"
SIZES = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {} for the mapped dimension"
)
NO_INPUTS = (
    "vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
    "trying to vmap over a function with no inputs. The latter is unsupported."
)
IN_DIMS_TYPE = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): expected `in_dims` to be int or a "
    "(potentially nested) tuple matching the structure of inputs, got: {type}."
)
IN_DIMS_STRUCTURE = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): in_dims is not compatible with "
    "the structure of `inputs`. in_dims has structure {mine} but inputs has "
    "structure {theirs}."
)
OUT_DIMS_TYPE = (
    "vmap({name}, ..., out_dims={dims}): `out_dims` must be an int, None or a python "
    "collection of ints representing where in the outputs the vmapped dimension "
    "should appear."
)
OUT_DIMS_STRUCTURE = (
    "vmap({name}, ..., out_dims={dims})(<inputs>): out_dims is not compatible "
    "with the structure of `outputs`. out_dims has structure {mine} but outputs "
    "has structure {theirs}."
)
NOT_TENSOR = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for an input but the "
    "input is of type {type}. We cannot vmap over non-Tensor arguments, please use None "
    "as the respective in_dim"
)
BAD_DIM = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that "
    "input is a Tensor of dimensionality {ndim} so expected in_dim to satisfy "
    "-{ndim} <= in_dim < {ndim}."
)
BAD_OUTPUT = (
    "vmap({name}, ...): `{name}` must only return Tensors, got type {type}. Did you mean "
    "to set out_dims= to None for output?"
)
NONE_BATCHED = "vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"


def vmap(
    func: Callable, in_dims=0, out_dims=0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """A function that maps `func` over dimension `in_dims` of its arguments (trees; None: not
    mapped) and puts the batch of the results at `out_dims`.

    `randomness`: what random functions do inside: 'error', 'different' numbers for each example,
    or the 'same' for all. `chunk_size` computes that many examples at a time.

    >>> torch.func.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    _check_randomness(randomness)
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    call = Vmap(func, in_dims, out_dims, randomness, chunk_size)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        return call(args, kwargs)

    return wrapped


def _check_randomness(randomness: str):
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(BAD_RANDOMNESS.format(randomness))


class Vmap:
    """A vmap with its settings, to be called with arguments."""

    def __init__(self, func, in_dims, out_dims, randomness: str, chunk_size: int | None, none_passes: bool = False):
        self.func, self.in_dims, self.out_dims = func, in_dims, out_dims
        self.randomness, self.chunk_size, self.none_passes = randomness, chunk_size, none_passes
        self.name = name_of(func)

    def __call__(self, args: tuple, kwargs: dict):
        size, dims, flat, spec = self.prepare(args)
        if self.chunk_size is None:
            return self.run(size, dims, flat, spec, kwargs)
        from .chunks import run_in_chunks

        return run_in_chunks(self, size, dims, flat, spec, kwargs)

    def run(self, size: int, dims: Sequence, flat: Sequence, spec, kwargs: dict):
        """Compute all examples at once."""
        outs, out_spec, out_dims = self.compute(size, dims, flat, spec, kwargs)
        return tree_unflatten(outs, out_spec)

    def compute(self, size: int, dims: Sequence, flat: Sequence, spec, kwargs: dict):
        """Flat outputs, their structure and batch dimensions."""
        inputs = [x for x, d in zip(flat, dims) if d is not None]
        with enter("vmap", size, self.randomness) as frame:
            wrapped = [
                x if d is None else wrap(Batched(frame.depth, size, x, d, given=True)) for x, d in zip(flat, dims)
            ]
            result = self.func(*tree_unflatten(wrapped, spec), **kwargs)
            outs, out_spec = tree_flatten(result)
            out_dims = self.flat_out_dims(result, out_spec)
            return ([self.unwrap(x, d, frame.depth, size, inputs) for x, d in zip(outs, out_dims)], out_spec, out_dims)

    def prepare(self, args: tuple):
        """(size of the batch, dimension of each leaf, leaves, structure of the arguments)."""
        self._check_in_dims(args)
        flat, spec = tree_flatten(args)
        dims = _broadcast_to_and_flatten(self.in_dims, spec)
        if dims is None:
            raise ValueError(
                IN_DIMS_STRUCTURE.format(
                    name=self.name, dims=self.in_dims, mine=tree_flatten(self.in_dims)[1], theirs=spec
                )
            )
        dims = [self._dim(x, d) for x, d in zip(flat, dims)]
        sizes = [x._aval.shape[d] for x, d in zip(flat, dims) if d is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if sizes.count(sizes[0]) < len(sizes):
            raise ValueError(SIZES.format(sizes))
        return sizes[0], dims, flat, spec

    def _check_in_dims(self, args: tuple):
        if not isinstance(self.in_dims, (int, tuple)):
            raise ValueError(IN_DIMS_TYPE.format(name=self.name, dims=self.in_dims, type=type(self.in_dims)))
        if not args:
            raise ValueError(NO_INPUTS.format(name=self.name))

    def _dim(self, x, dim):
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(
                f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): Got "
                f"in_dim={dim} for an input but in_dim must be either an integer "
                "dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(NOT_TENSOR.format(name=self.name, dims=self.in_dims, dim=dim, type=type(x)))
        if not -x.ndim <= dim < x.ndim:
            raise ValueError(BAD_DIM.format(name=self.name, dims=self.in_dims, dim=dim, ndim=x.ndim))
        return dim % x.ndim

    def flat_out_dims(self, result, spec) -> list:
        """The batch dimension wanted of each leaf of the result."""
        dims = self.out_dims
        if not isinstance(dims, (int, tuple, list, dict)) and dims is not None:
            raise ValueError(OUT_DIMS_TYPE.format(name=self.name, dims=dims))
        if isinstance(result, Tensor):
            if isinstance(dims, (tuple, list)) and len(dims) == 1:
                dims = dims[0]
        flat = _broadcast_to_and_flatten(dims, spec)
        if flat is None:
            raise ValueError(
                OUT_DIMS_STRUCTURE.format(name=self.name, dims=self.out_dims, mine=tree_flatten(dims)[1], theirs=spec)
            )
        if not all(d is None or isinstance(d, int) for d in flat):
            raise ValueError(OUT_DIMS_TYPE.format(name=self.name, dims=self.out_dims))
        return flat

    def unwrap(self, x, dim, depth: int, size: int, inputs: Sequence = ()):
        """An output one level down, its batch where it is wanted; a view of the input it is a view of."""
        if self.none_passes and x is None:
            return None
        if dim is None:
            level = getattr(x, "_level", None)
            if isinstance(level, Batched) and level.depth == depth:
                raise ValueError(NONE_BATCHED.format(name=self.name))
            return x
        if not isinstance(x, Tensor):
            raise ValueError(BAD_OUTPUT.format(name=self.name, type=type(x)))
        if not -x.ndim - 1 <= dim <= x.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-x.ndim - 1}, {x.ndim}], but got {dim})"
            )
        dim %= x.ndim + 1
        return in_memory_of(inputs, x, batched_at(x, depth, size, dim), depth, dim)


def name_of(func) -> str:
    """How error messages call a function."""
    return getattr(func, "__name__", None) or repr(func)


def vmap_allowing_none(func: Callable, args: Sequence) -> tuple:
    """vmap over dimension 0 of each argument; func may return None for some results."""
    found = Vmap(func, 0, 0, "error", None, none_passes=True)(tuple(args), {})
    return tuple(found)


__all__ = ["Vmap", "name_of", "vmap", "vmap_allowing_none"]


active.vmap = vmap_allowing_none
