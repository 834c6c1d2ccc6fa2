"""Random tensors: drawn on the host at once, number for number as PyTorch's CPU generator does."""
from __future__ import annotations

import math
import operator

import numpy as np

from ...core import dtypes as dt
from .. import _random as draw
from .. import _types, random
from .._devices import place
from .._op import composite, write_out
from .._tensor import layout_of
from .._tensor_base import Tensor
from .._views import assign, check_writable
from ..random import bits_of
from .copies import fitted_to
from .creation import NEGATIVE, data_dtype, like_strides, size_of, spread, with_strides
from .data import finish

# ---- factories -----------------------------------------------------------------------------------------------


def _factory(name: str, drawn):
    def factory(*size, generator=None, out=None, dtype=None, layout=None, device=None,
                requires_grad=False, pin_memory=False, names=None, **kwargs):
        shape = spread(name, size, kwargs.pop("size", None))
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        d = data_dtype(dtype) or (
            out._aval.dtype if out is not None else _types.defaults.dtype.numpy)
        made = finish(drawn(bits_of(generator), shape, d), device, requires_grad)
        return made if out is None else write_out(name, out, made)
    return composite(factory, name=name, method=False)


rand = _factory("rand", draw.uniform)
randn = _factory("randn", draw.normal)
rand.fun.__doc__ = """Uniform numbers of [0, 1).

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
randn.fun.__doc__ = "Standard normal numbers."


def _like(name: str, drawn):
    def factory(input, *, dtype=None, layout=None, device=None, requires_grad=False,
                pin_memory=False, memory_format=_types.preserve_format, generator=None):
        d = data_dtype(dtype) or input._aval.dtype
        strides = like_strides(input, memory_format)
        array = _in_memory_order(tuple(input.shape), strides, lambda shape: drawn(
            bits_of(generator), shape, d))
        made = with_strides(finish(array, input.device if device is None else device), strides)
        return made.requires_grad_() if requires_grad else made
    factory.__doc__ = f"{name.removesuffix('_like')} in the size, dtype and device of a tensor."
    return composite(factory, name=name, method=False)


def _in_memory_order(shape: tuple, strides, drawn) -> np.ndarray:
    """Draw so that consecutive numbers lie one after the other in memory."""
    if strides is None:
        return drawn(shape)
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], i))
    array = drawn(tuple(shape[i] for i in order))
    return np.ascontiguousarray(array.transpose(np.argsort(order)))


rand_like, randn_like = _like("rand_like", draw.uniform), _like("randn_like", draw.normal)


def _bounds(name: str, args: tuple, kwargs: dict) -> tuple[int, int, tuple]:
    """(low, high, rest) of randint(high, size) and randint(low, high, size)."""
    low, high = kwargs.pop("low", 0), kwargs.pop("high", None)
    numbers = []
    while args and (not isinstance(args[0], (tuple, list))) and len(numbers) < 2:
        numbers.append(_integer(name, args[0]))
        args = args[1:]
    if high is None and numbers:
        high = numbers.pop()
    if numbers:
        low = numbers.pop()
    if high is None or numbers:
        raise TypeError(f"{name}() received an invalid combination of arguments")
    return operator.index(low), operator.index(high), args


def _integer(name: str, x) -> int:
    if not hasattr(x, "__index__"):
        raise TypeError(f"{name}(): argument 'high' must be int, not {type(x).__name__}")
    return operator.index(x)


@composite(method=False)
def randint(*args, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False, **kwargs):
    """Integers of [low, high): randint(high, size) or randint(low, high, size)."""
    if len(args) > 1 and not isinstance(args[-1], (tuple, list)) and "size" not in kwargs:
        raise TypeError(f"randint(): argument 'size' (position {len(args)}) must be tuple of ints, "
                        f"not {type(args[-1]).__name__}")
    low, high, rest = _bounds("randint", args, kwargs)
    shape = size_of("randint", (kwargs.pop("size"),) if "size" in kwargs else rest)
    d = data_dtype(dtype) or (out._aval.dtype if out is not None else dt.int64)
    made = finish(draw.randint(bits_of(generator), shape, low, high, d), device, requires_grad)
    return made if out is None else write_out("randint", out, made)


@composite(method=False)
def randint_like(input, *args, dtype=None, layout=None, device=None, requires_grad=False,
                 pin_memory=False, memory_format=_types.preserve_format, generator=None, **kwargs):
    """Integers of [low, high) in the size, dtype and device of a tensor."""
    low, high, _ = _bounds("randint_like", args, kwargs)
    d = data_dtype(dtype) or input._aval.dtype
    strides = like_strides(input, memory_format)
    array = _in_memory_order(tuple(input.shape), strides, lambda shape: draw.randint(
        bits_of(generator), shape, low, high, d))
    made = with_strides(finish(array, input.device if device is None else device), strides)
    return made.requires_grad_() if requires_grad else made


@composite(method=False)
def randperm(n, *, generator=None, out=None, dtype=_types.int64, layout=None, device=None,
             requires_grad=False, pin_memory=False):
    """A permutation of 0 to n - 1."""
    n = operator.index(n)
    if n < 0:
        raise RuntimeError(NEGATIVE.format(n=n, size=[n]))
    made = finish(draw.randperm(bits_of(generator), n, data_dtype(dtype)), device, requires_grad)
    return made if out is None else write_out("randperm", out, made)


@composite(method=False)
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None,
           device=None, requires_grad=False, pin_memory=False):
    """Normal numbers: of a mean and deviation each, or of a size."""
    bits = bits_of(generator)
    arrays = [x._array() if isinstance(x, Tensor) else x for x in (mean, std)]
    if size is not None:
        d = data_dtype(dtype) or (
            out._aval.dtype if out is not None else _types.defaults.dtype.numpy)
        made = finish(draw.normal(bits, size_of("normal", (size,)), d, float(mean), float(std)),
                      device, requires_grad)
    elif not any(isinstance(x, Tensor) for x in (mean, std)):
        raise TypeError("normal() received an invalid combination of arguments - got "
                        f"({type(mean).__name__}, {type(std).__name__})")
    else:
        if isinstance(std, (int, float)) and not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        made = finish(draw.normal_from_arrays(bits, *arrays), None)
        for x in (mean, std):
            if isinstance(x, Tensor) and tuple(x.shape) == tuple(made.shape):
                made = without_gradient(made, x)
                break
    return made if out is None else write_out("normal", out, made)


def without_gradient(made: Tensor, source: Tensor) -> Tensor:
    """What was drawn from a tensor: on its tape, with zero gradients."""
    from .copies import _copy_onto, _old
    old = _old(source)
    if old is None or not (made.is_floating_point() or made.is_complex()):
        return made
    return _copy_onto.compute([old, made, tuple(made.shape), made._aval.dtype])


# ---- in place --------------------------------------------------------------------------------------------------


def fill_drawn(tensor: Tensor, drawn) -> Tensor:
    """Overwrite with drawn(shape), in the order of the memory."""
    from .copies import _old
    check_writable(tensor)
    shape, strides, _ = layout_of(tensor)
    array = _in_memory_order(shape, None if tensor.is_contiguous() else strides, drawn)
    made = finish(np.asarray(array), None)
    if tensor.device.type != "cpu":
        made = place(made, tensor.device)
    old = _old(tensor)
    return assign(tensor, made if old is None else fitted_to(made, shape, tensor._aval.dtype, old))


@composite(function=False)
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **kwargs):
    """Overwrite with uniform numbers of [from, to)."""
    low, high = kwargs.get("from", from_), to
    return fill_drawn(self, lambda shape: draw.uniform(
        bits_of(generator), shape, self._aval.dtype, low, high))


@composite(function=False)
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Overwrite with normal numbers."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    serial = not self.is_contiguous()
    return fill_drawn(self, lambda shape: draw.normal(
        bits_of(generator), shape, self._aval.dtype, mean, std, serial=serial))


@composite(function=False)
def random_(self, from_=None, to=None, *, generator=None, **kwargs):
    """Overwrite with integers: of the dtype's range, of [0, to), or of [from, to)."""
    low = kwargs.get("from", from_)
    if low is not None and to is None and "to" not in kwargs and "from" not in kwargs:
        low, to = 0, low
    d = self._aval.dtype
    if low is None and to is None:
        return fill_drawn(self, lambda shape: draw.random_full_range(bits_of(generator), shape, d))
    return fill_drawn(self, lambda shape: draw.randint(
        bits_of(generator), shape, operator.index(low or 0),
        None if to is None else operator.index(to), d))


def _inplace(name: str, drawn, first: str, default, second=None, second_default=None):
    """A method that overwrites with numbers of a distribution of one or two parameters."""
    def method(self, *args, generator=None, **kwargs):
        values = [kwargs.pop(n, d) for n, d in ((first, default), (second, second_default)) if n]
        values[:len(args)] = args
        if kwargs or len(values) > 1 + (second is not None) or None in values:
            raise TypeError(f"{name}() received an invalid combination of arguments")
        return fill_drawn(self, lambda shape: drawn(
            bits_of(generator), shape, self._aval.dtype, *map(float, values)))
    method.__doc__ = f"Overwrite with numbers of the {name[:-1].replace('_', '-')} distribution."
    return composite(method, name=name, function=False)


_inplace("exponential_", draw.exponential, "lambd", 1.0)
_inplace("cauchy_", draw.cauchy, "median", 0.0, "sigma", 1.0)
_inplace("log_normal_", draw.log_normal, "mean", 1.0, "std", 2.0)


@composite(function=False)
def geometric_(self, p, *, generator=None):
    """Overwrite with numbers of the geometric distribution."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return fill_drawn(self, lambda shape: draw.geometric(
        bits_of(generator), shape, self._aval.dtype, p))


@composite(function=False)
def bernoulli_(self, p=0.5, *, generator=None):
    """Overwrite with ones of probability p (a number or a tensor), otherwise zeros."""
    if isinstance(p, Tensor):
        p = np.array(np.broadcast_to(p._array(), self._aval.shape))
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return fill_drawn(self, lambda shape: draw.bernoulli(
        bits_of(generator), shape, self._aval.dtype, p))


# ---- functions of tensors ----------------------------------------------------------------------------------------


@composite
def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones with the probabilities of the input (or p), otherwise zeros."""
    d = input._aval.dtype
    probability = np.array(input._array()) if p is None else p
    if p is None and d not in dt.FLOATING:
        raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for {d.name}')
    if isinstance(p, Tensor):
        probability = np.array(np.broadcast_to(p._array(), input._aval.shape))
    elif p is not None and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    made = finish(draw.bernoulli(bits_of(generator), tuple(input.shape), d, probability), None)
    made = without_gradient(made, input)
    return made if out is None else write_out("bernoulli", out, made)


@composite
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn with the weights of each row."""
    if not input.is_floating_point():
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{input.type()[6:-6]}")
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without "
                           "replacement")
    made = finish(draw.multinomial(bits_of(generator), np.array(input._array()), num_samples,
                                   replacement), None)
    return made if out is None else write_out("multinomial", out, made)


@composite(method=False)
def poisson(input, generator=None):
    """Numbers of the Poisson distributions of these rates."""
    return without_gradient(finish(draw.poisson(bits_of(generator), np.array(input._array())),
                                   None), input)


@composite(method=False)
def binomial(count, prob, generator=None):
    """Numbers of the binomial distributions of these counts and probabilities."""
    return finish(draw.binomial(bits_of(generator), np.array(count._array()),
                                np.array(prob._array())), None)


@composite(name="_standard_gamma", method=False)
def standard_gamma(input, generator=None):
    """Numbers of the gamma distributions of these shapes; without gradients so far."""
    return finish(draw.standard_gamma(bits_of(generator), np.array(input._array())), None)


@composite(name="_sample_dirichlet", method=False)
def sample_dirichlet(input, generator=None):
    """Points of the Dirichlet distributions of these concentrations; without gradients so far."""
    return finish(draw.dirichlet(bits_of(generator), np.array(input._array())), None)


def dropout_mask(shape: tuple, p: float, generator=None) -> Tensor:
    """Where dropout keeps an element: the mask PyTorch's CPU kernel draws."""
    return finish(draw.dropout_mask(bits_of(generator), tuple(shape), p), None)


# ---- the functions of torch.random in torch ------------------------------------------------------------------------

NAMESPACE = {name: getattr(random, name) for name in (
    "Generator", "default_generator", "manual_seed", "seed", "initial_seed", "get_rng_state",
    "set_rng_state")}

__all__ = ["NAMESPACE", "dropout_mask", "math"]
