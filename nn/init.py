"""torch.nn.init: filling tensors with their first values. The numbers are PyTorch's for the same
seed."""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import torch
from ..core.warn import warn
from ..torch.tape.modes import no_grad
from ..torch.tensors.active import overridable

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
FEW_DIMENSIONS = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"


def calculate_gain(nonlinearity: str, param=None) -> float:
    """The factor by which weights in front of a nonlinearity should be larger.

    `param` is the slope of leaky_relu. ValueError for names that are not known.

    >>> nn.init.calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


# ---- constants -----------------------------------------------------------------------------------


@overridable
@no_grad()
def constant_(tensor, val: float):
    """Fill with one value.

    >>> nn.init.constant_(torch.empty(2), 3.)
    tensor([3., 3.])
    """
    return tensor.fill_(val)


@no_grad()
def ones_(tensor):
    """Fill with 1.

    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor):
    """Fill with 0.

    >>> nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return tensor.zero_()


@no_grad()
def eye_(tensor):
    """Fill a matrix with the identity.

    >>> nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(torch.eye(*tensor.shape))


@no_grad()
def dirac_(tensor, groups: int = 1):
    """Fill the weight of a convolution so that channels pass unchanged.

    >>> nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    center = tuple(n // 2 for n in tensor.shape[2:])
    tensor.zero_()
    for g in range(groups):
        for d in range(min(per_group, tensor.shape[1])):
            tensor[(g * per_group + d, d, *center)] = 1
    return tensor


# ---- uniform and normal --------------------------------------------------------------------------


@overridable
@no_grad()
def uniform_(tensor, a: float = 0.0, b: float = 1.0, generator=None):
    """Draw from the uniform distribution on [a, b).

    >>> nn.init.uniform_(torch.empty(3), 1., 2.).shape
    torch.Size([3])
    """
    return tensor.uniform_(a, b, generator=generator)


@overridable
@no_grad()
def normal_(tensor, mean: float = 0.0, std: float = 1.0, generator=None):
    """Draw from the normal distribution.

    >>> nn.init.normal_(torch.empty(3), mean=5.).shape
    torch.Size([3])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator=None):
    """Draw from the normal distribution, limited to [a, b].

    Where the interval is likely, values outside of it are drawn again; elsewhere uniform candidates
    are accepted with a probability that the density gives.

    >>> bool((nn.init.trunc_normal_(torch.empty(9), a=-1., b=1.).abs() <= 1).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    if tensor.is_meta:
        return tensor
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    draw = _redrawn if inside > 0.3 else _accepted
    return tensor.copy_(draw(tensor, mean, std, a, b, generator))


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redrawn(tensor, mean, std, a, b, generator):
    """Normal numbers, those outside of [a, b] drawn again."""
    low, high = (tensor.new_tensor(x).item() for x in (a, b))  # rounded to the tensor's dtype
    result = tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            return result
        again = tensor.new_empty(tensor.shape).normal_(mean, std, generator=generator)
        result = again.where(outside, result)


def _accepted(tensor, mean, std, a, b, generator):
    """Uniform numbers on [a, b], each drawn until the density accepts it."""
    highest = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def candidates():
        drawn = tensor.new_empty(tensor.shape).uniform_(a, b, generator=generator)
        log_density = ((drawn - mean) / std) ** 2 * -0.5 - highest
        chance = tensor.new_empty(tensor.shape).uniform_(generator=generator)
        return drawn, chance.log() > log_density

    result, refused = candidates()
    while refused.any():
        drawn, refused_again = candidates()
        result = drawn.where(refused, result)
        refused = refused & refused_again
    return result


# ---- by fan --------------------------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor) -> tuple[int, int]:
    """How many inputs an output of a layer has, and how many outputs an input."""
    if tensor.dim() < 2:
        raise ValueError(FEW_DIMENSIONS)
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor, mode: str) -> int:
    """The fan of a mode: fan_in or fan_out."""
    mode, valid = mode.lower(), ["fan_in", "fan_out"]
    if mode not in valid:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid}")
    return _calculate_fan_in_and_fan_out(tensor)[valid.index(mode)]


def _xavier_std(tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def xavier_uniform_(tensor, gain: float = 1.0, generator=None):
    """Glorot initialization (2010): uniform, with variance 2 gain^2 / (fan_in + fan_out).

    >>> bool((nn.init.xavier_uniform_(torch.empty(3, 3)).abs() <= 1).all())
    True
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain: float = 1.0, generator=None):
    """Glorot initialization (2010): normal, with variance 2 gain^2 / (fan_in + fan_out).

    >>> nn.init.xavier_normal_(torch.empty(3, 3)).shape
    torch.Size([3, 3])
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming(draw: Callable, tensor, a, mode, nonlinearity, stacklevel: int = 3):
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return draw(calculate_gain(nonlinearity, a) / math.sqrt(fan))


@overridable
def kaiming_uniform_(tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None):
    """He initialization (2015): uniform, with variance gain^2 / fan; `a` is leaky_relu's slope.

    >>> nn.init.kaiming_uniform_(torch.empty(3, 3), nonlinearity='relu').shape
    torch.Size([3, 3])
    """

    def draw(std):
        bound = math.sqrt(3.0) * std
        return uniform_(tensor, -bound, bound, generator)

    return _kaiming(draw, tensor, a, mode, nonlinearity, 4)


def kaiming_normal_(tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None):
    """He initialization (2015): normal, with variance gain^2 / fan; `a` is leaky_relu's slope.

    >>> nn.init.kaiming_normal_(torch.empty(3, 3), mode='fan_out').shape
    torch.Size([3, 3])
    """
    return _kaiming(lambda std: normal_(tensor, 0, std, generator), tensor, a, mode, nonlinearity)


# ---- matrices ------------------------------------------------------------------------------------


@no_grad()
def orthogonal_(tensor, gain: float = 1, generator=None):
    """Fill with a (semi-)orthogonal matrix times gain; further dimensions are flattened.

    >>> w = nn.init.orthogonal_(torch.empty(3, 3))
    >>> torch.allclose(w @ w.T, torch.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = torch.linalg.qr(drawn.t() if rows < columns else drawn)
    q = q * torch.diag(r, 0).sign()
    return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@no_grad()
def sparse_(tensor, sparsity: float, std: float = 0.01, generator=None):
    """Draw a matrix from the normal distribution; a fraction of each column becomes 0.

    >>> (nn.init.sparse_(torch.empty(4, 2), sparsity=0.5) == 0).sum()
    tensor(4)
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    tensor.normal_(0, std, generator=generator)
    if tensor.is_meta:
        return tensor
    for column in range(columns):
        tensor[torch.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    return tensor


# ---- former names --------------------------------------------------------------------------------


def _deprecated(new: Callable) -> Callable:
    name = new.__name__[:-1]

    def old(*args, **kwargs):
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{new.__name__}`.", FutureWarning)
        return new(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"Deprecated name of {new.__name__}."
    return old


uniform, normal, constant, eye, dirac = map(_deprecated, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal, sparse = map(
    _deprecated, (xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_, sparse_)
)

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
