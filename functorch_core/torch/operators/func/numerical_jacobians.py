"""Jacobians of functions of tensors: by central differences, by reverse mode and by forward mode.

A Jacobian is a NumPy array (elements of an input, elements of an output). By a complex input it is the derivative
by the real part plus i times that by the imaginary part, of an output that is real.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import numpy as np

from ...dispatch.members.elements import item_by_item
from ...levels.forward_ad import dual_level, make_dual, unpack_dual
from ...tape.backward import grad
from ...tape.modes import grad_mode
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from .gradcheck_messages import OTHER_KIND


def as_tuple(x) -> tuple:
    """What a function returned, as a tuple."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def differentiable(found) -> tuple:
    """The results that are on the tape."""
    return tuple([y for y in as_tuple(found) if y.requires_grad])


def inexact(found) -> tuple:
    """The results that are floating or complex tensors."""
    return tuple([y for y in as_tuple(found) if is_inexact(y)])


def is_inexact(x) -> bool:
    """Whether x is a floating or complex tensor."""
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def is_strided(x: Tensor) -> bool:
    """Whether x is of no sparse layout."""
    return x.layout is _types.strided


def array_of(x: Tensor) -> np.ndarray:
    """A copy of the elements of a tensor. (Not by numpy(): to share memory is a change that views would follow.)"""
    x = x.detach()
    if x._device is not None:
        return item_by_item(x)
    return np.array((x if is_strided(x) else x.to_dense())._array())


# ---- central differences -------------------------------------------------------------------------


def memory_of(x: Tensor) -> Tensor:
    """The memory that is moved, without history: of a sparse tensor that of its values."""
    return x.data if is_strided(x) else x._what.data


def rows_of(x: Tensor) -> np.ndarray:
    """Which element of x each element of its memory is."""
    places = np.arange(x.numel())
    if is_strided(x):
        return places
    return x._rows_in(from_array(places.reshape(tuple(x.shape))))._array()[x._numbers()].reshape(-1)


@contextlib.contextmanager
def moved(x: Tensor, step: np.ndarray):
    """Context: the memory of x is moved by a step; x is the same tensor, for all who hold it."""
    memory = memory_of(x)
    with grad_mode(False):
        before = memory.clone()
        memory.copy_(before + from_array(step.astype(before.dtype.numpy)))
    try:
        yield
    finally:
        with grad_mode(False):
            memory.copy_(before)


def difference(function: Callable, x: Tensor, step: np.ndarray, eps: float, index="") -> list[np.ndarray]:
    """The directional derivatives of the results as x moves along a step; `index` says where, for errors."""
    with moved(x, -eps * step):
        low = [(array_of(y), y.dtype, y.shape) for y in function()]
    with moved(x, eps * step):
        high = [(array_of(y), y.dtype, y.shape) for y in function()]
    for (_, dtype, shape), (_, other_dtype, other_shape) in zip(low, high):
        if shape != other_shape:
            raise AssertionError(OTHER_KIND.format("shape", index, eps, shape, other_shape))
        if dtype is not other_dtype:
            raise AssertionError(OTHER_KIND.format("dtype", index, eps, dtype, other_dtype))
    return [((b - a) / (2 * eps)).astype(b.dtype).reshape(-1) for (a, *_), (b, *_) in zip(low, high)]


def along(function: Callable, x: Tensor, direction: np.ndarray, eps: float, index="") -> list[np.ndarray]:
    """The derivatives along a direction; of a complex x along it and along i times it, as one number."""
    real = difference(function, x, direction, eps, index)
    if not x.is_complex():
        return real
    return [a + 1j * b for a, b in zip(real, difference(function, x, 1j * direction, eps, index))]


def numerical(function: Callable, inputs: Sequence, wanted: Sequence[int], eps: float) -> list[list[np.ndarray]]:
    """The Jacobians [input][output] of the function's results, which it chooses itself, as the inputs move."""
    found = []
    for i in wanted:
        x = inputs[i]
        shape, rows = tuple(memory_of(x).shape), rows_of(x)
        places = [f" on index {index}" for index in np.ndindex(*shape)]
        columns = [along(lambda: function(*inputs), x, unit(shape, k), eps, places[k]) for k in range(len(rows))]
        filled = [_filled(x.numel(), rows, part) for part in zip(*columns)]
        found.append(filled if columns else _nothing(function, inputs, x))
    return found


def unit(shape: tuple, k: int) -> np.ndarray:
    """Zeros with one 1."""
    out = np.zeros(shape)
    out.reshape(-1)[k] = 1
    return out


def _filled(n: int, rows: np.ndarray, values: Sequence) -> np.ndarray:
    out = np.zeros((n, len(values[0])), values[0].dtype)
    out[rows] = np.stack(values)
    return out


def _nothing(function: Callable, inputs: Sequence, x: Tensor) -> list[np.ndarray]:
    return [np.zeros((x.numel(), y.numel()), y.dtype.numpy) for y in function(*inputs)]


# ---- by derivatives ------------------------------------------------------------------------------


def pulled(output: Tensor, chosen: Sequence[Tensor], cotangent: Tensor) -> tuple:
    """The gradients of an output, None where an input was not used."""
    return grad(output, chosen, cotangent, retain_graph=True, allow_unused=True)


def reverse(output: Tensor, chosen: Sequence[Tensor]) -> tuple[list[np.ndarray], list[list]]:
    """The Jacobians of an output by the chosen inputs; and the gradients that they are made of."""
    shape, dtype = tuple(output.shape), output.dtype.numpy
    cotangents = [from_array(unit(shape, k).astype(dtype)) for k in range(output.numel())]
    rows = [pulled(output, chosen, ct) for ct in cotangents]
    return [_stacked([row[j] for row in rows], x) for j, x in enumerate(chosen)], rows


def _stacked(grads: Sequence, x: Tensor) -> np.ndarray:
    out = np.zeros((x.numel(), len(grads)), x.dtype.numpy)
    for k, g in enumerate(grads):
        if g is not None and g.numel() == x.numel():
            out[:, k] = array_of(g).reshape(-1)
    return out


def forward(function: Callable, inputs: Sequence, wanted: Sequence[int]) -> list[list[np.ndarray]]:
    """The Jacobians [input][output] by forward mode."""
    found = []
    for i in wanted:
        shape = tuple(inputs[i].shape)
        columns = [pushed(function, inputs, wanted, {i: unit(shape, k)}) for k in range(inputs[i].numel())]
        found.append([np.stack(part) for part in zip(*columns)] if columns else _nothing(function, inputs, inputs[i]))
    return found


def pushed(function: Callable, inputs: Sequence, wanted: Sequence[int], directions: dict) -> list[np.ndarray]:
    """The tangents of the results; the wanted inputs without a direction have tangents of zeros."""
    with dual_level():
        duals = list(inputs)
        for i in wanted:
            x = inputs[i].detach()
            step = directions.get(i, np.zeros(tuple(x.shape)))
            duals[i] = make_dual(x, from_array(step.astype(x.dtype.numpy)))
        return [_tangent(unpack_dual(y)) for y in function(*duals)]


def _tangent(dual) -> np.ndarray:
    if dual.tangent is None:
        return np.zeros(dual.primal.numel(), dual.primal.dtype.numpy)
    return array_of(dual.tangent).reshape(-1)


# ---- parts of complex numbers --------------------------------------------------------------------


def part_of_results(function: Callable, places: Sequence[int], part: str) -> Callable:
    """The function with the real or imaginary parts of complex results."""

    def composed(*inputs):
        found = differentiable(function(*inputs))
        return tuple([getattr(y, part) if i in places else y for i, y in enumerate(found)])

    return composed


def part_of_inputs(function: Callable, inputs: Sequence, places: Sequence[int], part: str):
    """(the function of the real or imaginary parts of complex inputs, these parts)."""

    def whole(i: int, x):
        other = inputs[i].detach()
        return combined(x, other.imag) if part == "real" else combined(other.real, x)

    def composed(*given):
        return function(*[whole(i, x) if i in places else x for i, x in enumerate(given)])

    parts = [getattr(x.detach(), part).clone().requires_grad_() if i in places else x for i, x in enumerate(inputs)]
    return composed, tuple(parts)


def combined(real: Tensor, imag: Tensor) -> Tensor:
    """The complex numbers of these parts."""
    return real + imag * 1j


def all_elements(x: Tensor) -> Tensor:
    """A sparse tensor that has all its elements, zeros among them."""
    dense = x.detach().to_dense()
    ones = from_array(np.ones(tuple(x.shape), x.dtype.numpy))
    if x.is_sparse:
        full = ones.to_sparse(x.sparse_dim())
    else:
        full = ones.to_sparse(layout=x.layout, blocksize=x._block() or None, dense_dim=x.dense_dim())
    values = full._rows_in(dense)[from_array(full._numbers())]
    return full._with(values.reshape(full._what.shape)).requires_grad_()
