"""torch.func.jacrev, jacfwd, hessian: all directions at once, by vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ...levels.derivatives import jvp, pick, replaced, vjp_by
from ...levels.vmap import vmap
from ...tensors.base import Tensor
from ...tensors.pytree import tree_flatten, tree_unflatten
from ..shape.data import finish_later
from ..shape.joining import stack


def standard_basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The unit vectors of all elements of all tensors: for each tensor (elements, *its shape)."""
    sizes = [x.numel() for x in tensors]
    total, start, out = sum(sizes), 0, []
    for x, n in zip(tensors, sizes):
        made = finish_later(functools.partial(_units, x, total, start), (total, *x.shape), x._aval.dtype, x.device)
        out.append(made)
        start += n
    return out


def _units(x: Tensor, total: int, start: int) -> np.ndarray:
    n = x.numel()
    block = np.zeros((total, n), x.dtype.numpy)
    block[range(start, start + n), range(n)] = 1
    return block.reshape(total, *x.shape)


def jacrev(
    func: Callable,
    argnums=0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """A function that computes the Jacobian of `func` by reverse mode: for each output tensor and
    each argument tensor one of shape (*output shape, *argument shape).

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        inputs, in_spec = tree_flatten(pick(args, argnums)[0])
        found = vjp_by(lambda *xs: func(*xs, **kwargs), args, argnums, has_aux)
        output, vjp_fn = found[:2]
        outputs, out_spec = tree_flatten(output)
        _require_real("jacrev", inputs, outputs)
        basis = standard_basis(outputs)

        def pull(*cts):
            return tuple(tree_flatten(vjp_fn(tree_unflatten(cts, out_spec)))[0])

        rows = _one_by_one(pull, basis) if chunk_size == 1 else vmap(pull, chunk_size=chunk_size)(*basis)
        result = tree_unflatten([tree_unflatten(blocks, in_spec) for blocks in _split_rows(rows, outputs)], out_spec)
        return (result, found[2]) if has_aux else result

    return wrapped


def _require_real(api: str, inputs: Sequence, outputs: Sequence):
    """RuntimeError for complex inputs or outputs."""
    for what, tensors in (("inputs", inputs), ("outputs", outputs)):
        for i, x in enumerate(tensors):
            if isinstance(x, Tensor) and x.is_complex():
                raise RuntimeError(
                    f"{api}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
                )


def _one_by_one(pull: Callable, basis: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The gradients by each cotangent in turn: functions that vmap cannot batch have them, too."""
    return tuple(stack(list(found)) for found in zip(*(pull(*cts) for cts in zip(*basis))))


def _split_rows(rows: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[list[Tensor]]:
    """From gradients of all output elements to one block for each output and input."""
    sizes = [y.numel() for y in outputs]
    split = [r.split(sizes, 0) for r in rows]
    return [
        [parts[i].reshape(tuple(y.shape) + tuple(parts[i].shape[1:])) for parts in split] for i, y in enumerate(outputs)
    ]


def jacfwd(
    func: Callable, argnums=0, has_aux: bool = False, *, chunk_size: int | None = None, randomness: str = "error"
) -> Callable:
    """A function that computes the Jacobian of `func` by forward mode; see jacrev.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacfwd: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        chosen, numbers = pick(args, argnums)
        inputs, in_spec = tree_flatten(chosen)
        _require_real("jacfwd", inputs, ())
        basis = standard_basis(inputs)

        def f(*xs):
            return func(*replaced(args, numbers, tree_unflatten(xs, in_spec), argnums), **kwargs)

        def push(*dots):
            found = jvp(f, tuple(inputs), dots, has_aux=has_aux)
            _require_real("jacfwd", (), tree_flatten(found[0])[0])
            return found[1:] if has_aux else found[1]

        columns = vmap(push, chunk_size=chunk_size, randomness=randomness)(*basis)
        columns, aux = columns if has_aux else (columns, None)
        flat, out_spec = tree_flatten(columns)
        result = tree_unflatten([tree_unflatten(_split_columns(c, inputs), in_spec) for c in flat], out_spec)
        if has_aux:
            return result, tree_unflatten([x[0] for x in tree_flatten(aux)[0]], tree_flatten(aux)[1])
        return result

    return wrapped


def _split_columns(column: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """From tangents in all directions to one block for each input."""
    shape = tuple(column.shape[1:])
    moved = column.movedim(0, -1)
    return [
        part.reshape(shape + tuple(x.shape)) for part, x in zip(moved.split([x.numel() for x in inputs], -1), inputs)
    ]


def hessian(func: Callable, argnums=0) -> Callable:
    """A function that computes the Hessian of `func`: forward over reverse mode.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
