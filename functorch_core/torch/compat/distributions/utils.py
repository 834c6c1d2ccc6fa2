"""What distributions share: parameters of one shape, probabilities and logits, lazy properties."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from numbers import Number

import numpy as np

from .... import torch
from ...operators.shape.data import finish
from ...tensors.base import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060

# ---- parameters ----------------------------------------------------------------------------------

NO_OPERAND = "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."


def is_tensor_like(x) -> bool:
    """Whether x is a tensor, or of a class that takes part in the override protocol."""
    return isinstance(x, Tensor) or hasattr(x, "__torch_function__")


def broadcast_all(*values) -> tuple[Tensor, ...]:
    """Tensors of one shape; numbers get the dtype and device of the first tensor, or the default.

    >>> torch.distributions.utils.broadcast_all(1., torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not all(isinstance(v, Number) or is_tensor_like(v) for v in values):
        raise ValueError(NO_OPERAND)
    tensors = [v for v in values if isinstance(v, Tensor)]
    like = {"dtype": tensors[0].dtype, "device": tensors[0].device} if tensors else {"dtype": torch.get_default_dtype()}
    shape = tensors[0].shape if tensors else ()
    made = [v if is_tensor_like(v) else _filled(shape, v, **like) for v in values]
    if all(isinstance(v, Tensor) and v.shape == shape for v in made):
        return tuple(made)
    return tuple(torch.broadcast_tensors(*made))


def _filled(shape, number, dtype, device=None) -> Tensor:
    """A number, computed already and in its final shape: no ops to record, nothing to wait for."""
    return finish(np.full(shape, number, dtype.numpy), device)


def _standard_normal(shape, dtype, device) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value.flatten(value.dim() - dim).sum(-1) if dim else value


# ---- probabilities and logits --------------------------------------------------------------------


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log odds (binary), or of log weights along the last dimension.

    >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities at least the dtype's eps away from 0 and 1.

    >>> from torch.distributions.utils import clamp_probs
    >>> clamp_probs(torch.tensor([0., 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds of probabilities (binary), or their logarithms.

    >>> torch.distributions.utils.probs_to_logits(torch.tensor([.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    if is_binary:
        return torch.log(clamped) - torch.log1p(-clamped)
    return torch.log(clamped)


# ---- properties that are computed when they are asked for ----------------------------------------


class lazy_property:
    """An attribute computed at its first reading, with gradients, and kept from then on.

    >>> from torch.distributions import Categorical
    >>> Categorical(logits=torch.zeros(4)).probs
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def __init__(self, wrapped: Callable):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __set_name__(self, owner, name: str):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class shows for a lazy property: documentation tools take it for a property."""

    def __init__(self, wrapped: Callable):
        property.__init__(self, wrapped)


# ---- triangular matrices as vectors --------------------------------------------------------------

OUTSIDE = "diag ({diag}) provided is outside [{low}, {high}]."
NO_TRIANGLE = (
    "The size of last dimension is {n} which cannot be expressed as the lower triangular part of a square D x D matrix."
)


def _lower_mask(n: int, diag: int, device) -> Tensor:
    index = torch.arange(n, device=device)
    return index <= index.unsqueeze(-1) + diag


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of matrices [..., n, n], row by row, as vectors.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(OUTSIDE.format(diag=diag, low=-n, high=n - 1))
    return mat[..., _lower_mask(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices [..., n, n] whose lower triangles are these vectors, row by row.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1., 2., 3.]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    length = vec.shape[-1]
    # length = n (n + 1) / 2 + diag n - diag (diag + 1) / 2 [diag > 0], solved for n
    root = math.sqrt((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1))
    n = (-(1 + 2 * diag) + root) / 2
    if abs(n - round(n)) > torch.finfo(vec.dtype).eps:
        raise ValueError(NO_TRIANGLE.format(n=length))
    n = round(n)
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., _lower_mask(n, diag, vec.device)] = vec
    return matrix
