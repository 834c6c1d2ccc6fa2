"""Jacobians under the names that torch.autograd.gradcheck once had, which test suites still import."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ....core.warn import warn
from ...tensors.base import Tensor, from_array
from . import numerical_jacobians as jacobians
from .numerical_jacobians import array_of, as_tuple, inexact, unit

FORMER = (
    "`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
    "removed in a future version of PyTorch."
)


def _iter_tensors(x, only_requiring_grad: bool = False) -> Iterator[Tensor]:
    """The tensors in a nest of sequences."""
    if isinstance(x, Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, (list, tuple)):
        for part in x:
            yield from _iter_tensors(part, only_requiring_grad)


def _get_numerical_jacobian(
    fn: Callable, inputs, outputs=None, target=None, eps: float = 1e-3, is_forward_ad: bool = False
) -> list[tuple[Tensor, ...]]:
    """For each tensor of `target` (of the inputs) that requires grad the Jacobians of fn's results."""
    inputs = as_tuple(inputs)

    def results(*moved):
        return inexact(fn(*inputs))

    moved = _iter_tensors(inputs if target is None else target, True)
    rows = [jacobians.numerical(results, (x,), (0,), eps)[0] for x in moved]
    return [tuple([from_array(block) for block in row]) for row in rows]


def get_numerical_jacobian(fn: Callable, inputs, target=None, eps: float = 1e-3, grad_out: float = 1.0) -> list[Tensor]:
    """Deprecated: the Jacobians of the first result of fn, which takes the inputs as a tuple."""
    warn(FORMER.format(name="get_numerical_jacobian"), FutureWarning)
    _check_one("get_numerical_jacobian", grad_out)
    return [row[0] for row in _get_numerical_jacobian(lambda *given: fn(given), inputs, None, target, eps)]


def get_analytical_jacobian(inputs, output, nondet_tol: float = 0.0, grad_out: float = 1.0):
    """Deprecated: (Jacobians of an output, whether they are the same a second time, whether their sizes and whether
    their dtypes are the inputs')."""
    warn(FORMER.format(name="get_analytical_jacobian"), FutureWarning)
    _check_one("get_analytical_jacobian", grad_out)
    chosen = [*_iter_tensors(inputs, True)]
    first, second = ([_column(output, chosen, k) for k in range(output.numel())] for _ in range(2))
    made, again = ([np.stack(each, 1) for each in zip(*columns)] for columns in (first, second))
    same = all(np.abs(a - b).max(initial=0) <= nondet_tol for a, b in zip(made, again))
    return [from_array(block) for block in made], same, True, True


def _column(output: Tensor, chosen: list, k: int) -> list[np.ndarray]:
    cotangent = from_array(unit(tuple(output.shape), k).astype(output.dtype.numpy))
    grads = jacobians.pulled(output, chosen, cotangent)
    return [np.zeros(x.numel(), x.dtype.numpy) if g is None else array_of(g).reshape(-1) for g, x in zip(grads, chosen)]


def _check_one(name: str, grad_out: float):
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")
