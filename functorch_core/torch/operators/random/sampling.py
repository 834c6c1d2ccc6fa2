"""Random tensors: drawn on the host at once, number for number as PyTorch's CPU generator does."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np

from ....core import dtypes as dt
from ....core.trace import open_traces
from ....core.warn import warn
from ....engine.bounds import below
from ....engine.cost import NUMPY_DIMS
from ....engine.value import computed, from_numpy, kept_on_host, to_numpy
from ...dispatch.devices import resolve, xla_device
from ...dispatch.factory import Factory, LikeFactory
from ...dispatch.inplace import NO_HISTORY
from ...dispatch.op import Looking, composite, write_out
from ...dispatch.traits import Out
from ...levels.levels import Dual
from ...levels.writes import with_zero_tangent
from ...tape.apply import without_history
from ...tape.meta import drawn_on_meta, is_meta, meta_tensor
from ...tape.modes import state
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor
from ...views.cells import assign, check_writable, layout_of
from ...views.memory_order import unlike_rows, with_strides
from .. import random as draw
from ..shape.copies import _copy_onto, _old, fitted_to
from ..shape.creation import NEGATIVE, check_out_dtype, data_dtype, like_strides, size_given, size_of
from ..shape.data import finish, require_grad
from ..shape.joining import common_shape
from . import keys, on_device, seeds
from .sampling_gradients import dirichlet_of, gamma_of
from .seeds import bits_of, default_generator, drawing


def sampled(
    drawn,
    shape,
    *parameters: Tensor,
    device=None,
    requires_grad: bool = False,
    there: on_device.There | None = None,
    generator=None,
) -> Tensor:
    """A tensor of drawn(shape, *arrays of the parameters), on their device unless another is given:
    inside vmap, of all its examples. `there`: what draws them on a GPU, by the generator's next bits."""
    if device is None and parameters:
        device = parameters[0].device

    def make(shape, *parameters):
        where = resolve(device)
        if where.type not in ("cpu", "meta"):
            xla_device(where)  # raises before numbers are drawn
            if there is not None and not (keys.given() or open_traces):
                made = there(where, tuple(shape), bits_of(generator))
                return require_grad(made) if requires_grad else made
        if where.type == "meta" or any(map(is_meta, parameters)):
            made = drawn_on_meta(drawn, shape, parameters)
            return require_grad(made) if requires_grad else made
        if len(shape) > NUMPY_DIMS:
            return _of_many_dims(shape, drawn, parameters, device, requires_grad)
        made = keys.drawn(drawn, shape, parameters)
        if made is not None:
            return require_grad(made) if requires_grad else made
        arrays = [np.array(x._array()) for x in parameters]
        return finish(np.asarray(drawn(shape, *arrays)), device, requires_grad)

    if active.levels is None:
        return make(shape if shape.__class__ is tuple else tuple(shape), *parameters)
    return active.levels.drawn(make, shape, *parameters)


def on_host(x: Tensor) -> np.ndarray | None:
    """The numbers of a tensor that a generator draws by, which lie on the host in order; while nothing is active."""
    if x._strides is not None or x._view is not None and not x._view.is_contiguous():
        return None
    if keys.given() or open_traces:
        return None
    value = x._value if x._view is None else x._read()
    array = to_numpy(value)
    return array if array.ndim and kept_on_host(value) is array else None


def _of_many_dims(shape: tuple, drawn, parameters, device, requires_grad: bool = False) -> Tensor:
    """What `sampled` gives of more dimensions than an array has."""
    flat = [x.broadcast_to(shape).reshape(-1) for x in parameters]
    made = sampled(drawn, (math.prod(shape),), *flat, device=device).reshape(shape)
    return require_grad(made) if requires_grad else made


# ---- factories -----------------------------------------------------------------------------------


def _factory(name: str, drawn, doc: str):
    def factory(
        *size,
        generator=None,
        out=None,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        pin_memory=False,
        names=None,
        **kwargs,
    ):
        shape = size_given(name, size, names, kwargs)
        d = data_dtype(dtype) or (out._aval.dtype if out is not None else _types.defaults.dtype.numpy)
        if out is not None:
            _check_filled(name, out, d)
            return _filled(name, out, shape, lambda shape: drawn(bits_of(generator), shape, d, not _in_order(out)))
        return sampled(
            lambda shape: drawn(bits_of(generator), shape, d, False),
            shape,
            device=device,
            requires_grad=requires_grad,
            there=drawn.there(d),
            generator=generator,
        )

    factory.__doc__ = doc
    made = composite(factory, kind=Factory, name=name, method=False, out=Out(single=True))
    return made.known_by(lambda made, *_: _drawn_as(drawn, made), _drawn_again)


def _drawn_as(drawn, made: Tensor) -> tuple | None:
    """What is known of a draw: the aval and the function, unless something else than a generator draws."""
    if keys.given() or made.requires_grad:
        return None
    a = made._value.aval
    at = getattr(drawn, "at", None)
    few = None if at is None else at(a.size, a.dtype)
    return a, drawn, few or (lambda bits: drawn(bits, a.shape, a.dtype, False))


def _drawn_again(known: tuple) -> Tensor:
    """The same by the generator of this thread."""
    a, drawn, few = known
    if keys.given():
        return sampled(lambda shape: drawn(bits_of(None), shape, a.dtype, False), a.shape)
    array = few(drawing.bits or default_generator.bits)
    if array.ndim != a.ndim:
        array = array.reshape(a.shape)
    return without_history(computed(a, array))


def _check_filled(name: str, out: Tensor, dtype: np.dtype):
    """RuntimeError if numbers of a dtype cannot be drawn into `out`."""
    check_out_dtype(out, dtype)
    if out.requires_grad and state.enabled:
        raise RuntimeError(NO_HISTORY.format(name=name))


def _is_filled(out, dtype: np.dtype) -> bool:
    """Whether numbers of a dtype are drawn into the memory of `out`, in its order."""
    return isinstance(out, Tensor) and out._aval.dtype == dtype and not out.requires_grad


def _filled(name: str, out: Tensor, shape: tuple, drawn) -> Tensor:
    """drawn(shape) into the memory of `out`, which is resized without a warning."""
    return fill_drawn(name, out.resize_(shape), drawn)


def _in_order(tensor: Tensor) -> bool:
    """Whether numbers are drawn into a tensor in the order of its dimensions."""
    return tensor.is_contiguous() if tensor._level is None else _strides_drawn(tensor) is None


def _strides_drawn(tensor: Tensor) -> tuple | None:
    """The strides by which numbers are drawn into a tensor; None if in the order of its dimensions."""
    if tensor._level is None:
        return None if tensor.is_contiguous() else layout_of(tensor)[1]
    strides = active.levels.strides_of_all(tensor)
    return None if strides is None or list(strides) == sorted(strides, reverse=True) else strides


def _uniform(bits, shape, dtype, serial: bool) -> np.ndarray:
    return draw.uniform(bits, shape, dtype)


def _normal(bits, shape, dtype, serial: bool) -> np.ndarray:
    """Normal numbers; in another order (`serial`) for memory that is not contiguous."""
    return draw.normal(bits, shape, dtype, serial=serial)


_uniform.at, _normal.at = draw.uniform_at, draw.normal_at
_uniform.there, _normal.there = on_device.uniform, on_device.normal
RAND = """Uniform numbers of [0, 1).

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
RANDN = """Standard normal numbers.

    >>> _ = torch.manual_seed(0)
    >>> torch.randn(2)
    tensor([ 1.5410, -0.2934])
    """
rand = _factory("rand", _uniform, RAND)
randn = _factory("randn", _normal, RANDN)


def _like(name: str, drawn):
    def factory(
        input,
        *,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        pin_memory=False,
        memory_format=_types.preserve_format,
        generator=None,
    ):
        d = data_dtype(dtype) or input._aval.dtype
        return _sampled_like(
            input,
            memory_format,
            device,
            requires_grad,
            lambda shape, serial: drawn(bits_of(generator), shape, d, serial),
            drawn.there(d),
            generator,
        )

    factory.__doc__ = f"""{name.removesuffix("_like")} in the size, dtype and device of a tensor.

    >>> torch.{name}(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    made = composite(factory, kind=LikeFactory, name=name, method=False)
    return made.known_by(lambda made, *_: _drawn_as(drawn, made), _drawn_again)


def _sampled_like(
    input, memory_format, device, requires_grad: bool, drawn, there: on_device.There | None = None, generator=None
) -> Tensor:
    """A tensor like another, filled by drawn(shape, serial) in the order of its memory."""
    device = input.device if device is None else device
    if input._level is not None:
        return _sampled_like_examples(input, device, drawn)
    strides = like_strides(input, memory_format)

    def in_order(shape):
        return _in_memory_order(shape, strides, lambda shape: drawn(shape, strides is not None))

    made = sampled(in_order, tuple(input.shape), device=device, there=there, generator=generator)
    made = made if strides is None or made._level is not None else with_strides(made, strides)
    return made.requires_grad_() if requires_grad else made


def _sampled_like_examples(input, device, drawn) -> Tensor:
    """A tensor like one example, inside vmap."""
    strides = active.levels.strides_of_all(input)

    def in_order(shape):
        dense = None if strides is None else unlike_rows(shape, strides)
        return _in_memory_order(shape, dense, lambda shape: drawn(shape, dense is not None))

    return sampled(in_order, tuple(input.shape), device=device)


def _in_memory_order(shape: tuple, strides, drawn, arrays: Sequence[np.ndarray] = ()) -> np.ndarray:
    """Draw so that consecutive numbers lie one after the other in memory; of arrays of this shape."""
    if strides is None:
        return drawn(shape, *arrays)
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], i))
    array = drawn(tuple(shape[i] for i in order), *[x.transpose(order) for x in arrays])
    return np.ascontiguousarray(array.transpose(np.argsort(order)))


rand_like, randn_like = _like("rand_like", _uniform), _like("randn_like", _normal)


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


@composite(kind=Factory, method=False, out=Out(single=True, silent=True))
def randint(
    *args,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    **kwargs,
):
    """Integers of [low, high): randint(high, size) or randint(low, high, size).

    >>> torch.randint(3, (2, 4)).shape
    torch.Size([2, 4])
    """
    if len(args) > 1 and not isinstance(args[-1], (tuple, list)) and "size" not in kwargs:
        raise TypeError(
            f"randint(): argument 'size' (position {len(args)}) must be tuple of ints, not {type(args[-1]).__name__}"
        )
    low, high, rest = _bounds("randint", args, kwargs)
    shape = size_of("randint", (kwargs.pop("size"),) if "size" in kwargs else rest)
    if kwargs:
        raise TypeError(f"randint() got an unexpected keyword argument '{min(kwargs)}'")
    d = data_dtype(dtype) or (out._aval.dtype if out is not None else dt.int64)
    drawn = lambda shape: draw.randint(bits_of(generator), shape, low, high, d)  # noqa: E731 (it is passed on)
    if out is not None and dtype is not None:
        check_out_dtype(out, d)
    if _is_filled(out, d):
        return _filled("randint", out, shape, drawn)
    return write_out("randint", out, sampled(drawn, shape, device=device, requires_grad=requires_grad))


def _integers_as(made: Tensor, args: tuple, kwargs: dict):
    """Aval and bounds of a draw of integers."""
    low, high, _ = _bounds("randint", args, {})

    def drawn(bits, shape, dtype, _):
        return draw.randint(bits, shape, low, high, dtype)

    drawn.at = lambda n, dtype: draw.integers_at(n, dtype, low, high)
    return _drawn_as(drawn, made)


randint.known_by(_integers_as, _drawn_again)


@composite(method=False)
def randint_like(
    input,
    *args,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    memory_format=_types.preserve_format,
    generator=None,
    **kwargs,
):
    """Integers of [low, high) in the size, dtype and device of a tensor.

    >>> torch.randint_like(torch.zeros(2), 3).shape
    torch.Size([2])
    """
    low, high, _ = _bounds("randint_like", args, kwargs)
    d = data_dtype(dtype) or input._aval.dtype
    return _sampled_like(
        input,
        memory_format,
        device,
        requires_grad,
        lambda shape, _: draw.randint(bits_of(generator), shape, low, high, d),
    )


@composite(method=False, out=Out(kernel=("randperm", dt.REAL), single=True, silent=True, overlapping=True))
def randperm(
    n, *, generator=None, out=None, dtype=_types.int64, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A permutation of 0 to n - 1.

    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    n = operator.index(n)
    if n < 0:
        raise RuntimeError(NEGATIVE.format(n=n, size=[n]))
    d = data_dtype(dtype)
    made = sampled(
        lambda shape: _rows(shape, lambda: draw.randperm(bits_of(generator), n, d), d),
        (n,),
        device=device,
        requires_grad=requires_grad,
    )
    return write_out("randperm", out, made)


def _rows(shape: tuple, drawn, d) -> np.ndarray:
    """An array of this shape whose last dimension is drawn at once, row by row."""
    if len(shape) == 1 and shape[0]:
        return drawn()
    out = np.empty(shape, d)
    if 0 in shape:
        return out
    for row in np.ndindex(shape[:-1]):
        out[row] = drawn()
    return out


def _normal_node(made, args):
    """By which of mean and standard deviation are tensors."""
    kinds = [isinstance(x, Tensor) for x in args[:2]]
    return f"NormalBackward{kinds[0] + 2 * kinds[1] if all(kinds) else 1 + kinds[-1]}"


@composite(method=False, out=Out(kernel=("normal_kernel_cpu", dt.INEXACT)), node=_normal_node)
def normal(
    mean=0.0,
    std=1.0,
    size=None,
    *,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """Normal numbers: of a mean and deviation each, or of a size.

    >>> torch.normal(torch.tensor([1., 2.]), torch.tensor([0., 0.]))
    tensor([1., 2.])
    """
    if size is not None:
        d = data_dtype(dtype) or (out._aval.dtype if out is not None else _types.defaults.dtype.numpy)
        shape = size_of("normal", (size,))
        drawn = lambda shape, serial=False: draw.normal(  # noqa: E731
            bits_of(generator), shape, d, float(mean), float(std), serial=serial
        )
        if _is_filled(out, d):
            return _filled("normal", out, shape, lambda shape: drawn(shape, not _in_order(out)))
        made = sampled(
            drawn,
            shape,
            device=device,
            requires_grad=requires_grad,
            there=on_device.normal(d, float(mean), float(std)),
            generator=generator,
        )
    elif not any(isinstance(x, Tensor) for x in (mean, std)):
        raise TypeError(
            f"normal() received an invalid combination of arguments - got ({type(mean).__name__}, {type(std).__name__})"
        )
    else:
        if isinstance(std, (int, float)) and not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if isinstance(out, Tensor) and not _in_order(out) and not out.requires_grad:
            normal_(out, 0.0, 1.0 if isinstance(std, Tensor) else std, generator=generator)
            return (out.mul_(std) if isinstance(std, Tensor) else out).add_(mean)
        made = _normal_of_tensors(generator, mean, std)
        for x in (mean, std):
            if isinstance(x, Tensor):
                made = without_gradient(made, x if x.shape == made.shape else x.expand(made.shape))
    return write_out("normal", out, made)


def _normal_of_tensors(generator, mean, std) -> Tensor:
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    shape = common_shape([tuple(x.shape) for x in tensors])

    def drawn(shape, *arrays):
        arrays = iter(arrays)
        mean_and_std = [next(arrays) if isinstance(x, Tensor) else x for x in (mean, std)]
        return draw.normal_from_arrays(bits_of(generator), *mean_and_std)

    if active.levels is not None:  # the batch dimensions come in front of equal shapes
        tensors = [x.expand(shape) for x in tensors]
    return sampled(drawn, shape, *tensors)


def without_gradient(made: Tensor, source: Tensor) -> Tensor:
    """What was drawn from a tensor: on its tape, with zero gradients; of a dual tensor with zero tangents."""
    old = _old(source)
    if not (made.is_floating_point() or made.is_complex()):
        return made
    if isinstance(source._level, Dual) and made._level is None:
        return with_zero_tangent(made, source)
    if old is None:
        return made
    return _copy_onto.compute([old, made, tuple(made.shape), made._aval.dtype])


# ---- in place ------------------------------------------------------------------------------------


def fill_drawn(
    op: str, tensor: Tensor, drawn, *parameters: Tensor, there: on_device.There | None = None, generator=None
) -> Tensor:
    """Overwrite with drawn(shape, *arrays of the parameters), in the order of the memory: tensor.op_()."""
    check_writable(tensor, op=op)
    inside = active.levels is not None and active.levels.stack.frames
    if is_meta(tensor) or tensor._level is not None or inside or keys.given():
        return _filled_inside(op, tensor, drawn, parameters)
    shape = tuple(tensor.shape)
    if len(shape) > NUMPY_DIMS:
        return assign(tensor, _of_many_dims(shape, drawn, parameters, tensor.device), op=op)
    if there is not None and tensor.is_cuda and not open_traces:
        made = there(tensor.device, shape, bits_of(generator))
    else:
        arrays = [np.array(x._array()) for x in parameters]
        array = _in_memory_order(shape, _strides_drawn(tensor), drawn, arrays)
        made = finish(np.asarray(array), tensor.device)
    old = _old(tensor)
    return assign(tensor, made if old is None else fitted_to(made, shape, tensor._aval.dtype, old))


def _filled_inside(op: str, tensor: Tensor, drawn, parameters: Sequence[Tensor]) -> Tensor:
    """What fill_drawn does inside of transforms and on the meta device."""
    strides = None
    if active.levels is not None:
        active.levels.check_randomness(parameters, tensor)
        strides = _strides_drawn(tensor) if tensor._level is not None else None

    def in_order(shape, *arrays):
        return _in_memory_order(shape, strides, drawn, arrays)

    return assign(tensor, sampled(in_order, tuple(tensor.shape), *parameters, device=tensor.device), op=op)


@composite(function=False, node="UniformBackward0")
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **kwargs):
    """Overwrite with uniform numbers of [from, to).

    >>> bool(torch.zeros(9).uniform_(2, 3).ge(2).all())
    True
    """
    low, high = kwargs.get("from", from_), to
    return fill_drawn(
        "uniform",
        self,
        lambda shape: draw.uniform(bits_of(generator), shape, self._aval.dtype, low, high),
        there=on_device.uniform(self._aval.dtype, low, high),
        generator=generator,
    )


@composite(function=False, node="NormalBackward0")
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Overwrite with normal numbers.

    >>> torch.zeros(2).normal_(5, 0)
    tensor([5., 5.])
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    serial = not _in_order(self)
    return fill_drawn(
        "normal",
        self,
        lambda shape: draw.normal(bits_of(generator), shape, self._aval.dtype, mean, std, serial=serial),
        there=on_device.normal(self._aval.dtype, mean, std),
        generator=generator,
    )


GAPS = (
    "{what} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {kind} can support discrete "
    "uniform distribution only within this range. This warning will become an error in version 1.7 release, please fix "
    "the code in advance"
)
DIGITS = {
    "float16": (11, "c10::Half"),
    "bfloat16": (8, "c10::BFloat16"),
    "float32": (24, "float"),
    "float64": (53, "double"),
}


def _warn_of_gaps(dtype: np.dtype, low, to):
    """UserWarning for bounds between which a dtype does not have all integers."""
    if to is None or dtype.name not in DIGITS:
        return
    digits, kind = DIGITS[dtype.name]
    for what, bound in (("from", low or 0), ("to - 1", to - 1)):
        if abs(bound) > 1 << digits:
            warn(GAPS.format(what=what, digits=digits, kind=kind))


_NOT_GIVEN = object()


@composite(function=False)
def random_(self, from_=None, to=_NOT_GIVEN, *, generator=None, **kwargs):
    """Overwrite with integers: of the dtype's range, of [0, to), of [from, to), with to=None of [from, the largest].

    >>> bool(torch.zeros(9).random_(3).lt(3).all())
    True
    """
    low = kwargs.get("from", from_)
    if to is _NOT_GIVEN:
        low, to = (low, None) if low is None or "from" in kwargs else (0, low)
    d = self._aval.dtype
    _warn_of_gaps(d, low, to)
    if low is None and to is None:
        return fill_drawn("random", self, lambda shape: draw.random_full_range(bits_of(generator), shape, d))
    return fill_drawn(
        "random",
        self,
        lambda shape: draw.randint(
            bits_of(generator), shape, operator.index(low or 0), None if to is None else operator.index(to), d
        ),
    )


def _inplace(name: str, drawn, first: str, default, second=None, second_default=None):
    """A method that overwrites with numbers of a distribution of one or two parameters."""

    def method(self, *args, generator=None, **kwargs):
        values = [kwargs.pop(n, d) for n, d in ((first, default), (second, second_default)) if n]
        values[: len(args)] = args
        if kwargs or len(values) > 1 + (second is not None) or None in values:
            raise TypeError(f"{name}() received an invalid combination of arguments")
        return fill_drawn(
            name[:-1], self, lambda shape: drawn(bits_of(generator), shape, self._aval.dtype, *map(float, values))
        )

    method.__doc__ = f"""Overwrite with numbers of the {name[:-1].replace("_", "-")} distribution.

    >>> torch.zeros(2, 3).{name}({"0.5" if name == "geometric_" else ""}).isfinite().all()
    tensor(True)
    """
    node = f"{name.title().replace('_', '')}Backward0"
    return composite(method, name=name, function=False, node=node)


_inplace("exponential_", draw.exponential, "lambd", 1.0)
_inplace("cauchy_", draw.cauchy, "median", 0.0, "sigma", 1.0)
_inplace("log_normal_", draw.log_normal, "mean", 1.0, "std", 2.0)


@composite(function=False, node="GeometricBackward0")
def geometric_(self, p, *, generator=None):
    """Overwrite with numbers of the geometric distribution.

    >>> bool((torch.empty(100).geometric_(0.5) >= 1).all())
    True
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return fill_drawn("geometric", self, lambda shape: draw.geometric(bits_of(generator), shape, self._aval.dtype, p))


def _bernoulli_node(made, args):
    return f"BernoulliBackward{1 if len(args) > 1 and isinstance(args[1], Tensor) else 2}"


@composite(function=False, node=_bernoulli_node)
def bernoulli_(self, p=0.5, *, generator=None):
    """Overwrite with ones of probability p (a number or a tensor), otherwise zeros.

    >>> torch.empty(3).bernoulli_(1.0)
    tensor([1., 1., 1.])
    """
    if isinstance(p, Tensor):
        if not is_meta(self):
            d, chances = self._aval.dtype, p.detach().expand(self.shape)
            return fill_drawn(
                "bernoulli", self, lambda shape, p: draw.bernoulli(bits_of(generator), shape, d, p), chances
            )
        p = 0.5
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return fill_drawn(
        "bernoulli",
        self,
        lambda shape: draw.bernoulli(bits_of(generator), shape, self._aval.dtype, p),
        there=on_device.ones(self._aval.dtype, p),
        generator=generator,
    )


# ---- functions of tensors ------------------------------------------------------------------------


@composite(
    kind=Looking,
    out=Out(also=dt.ALL, kernel=("bernoulli_tensor_cpu_self_", dt.ORDERED), silent=True, whole=True),
    node="BernoulliBackward0",
    in_place="bernoulli_.float",
)
def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones with the probabilities of the input (or p), otherwise zeros.

    >>> torch.bernoulli(torch.tensor([0., 1.]))
    tensor([0., 1.])
    """
    d = input._aval.dtype
    if p is None and d not in dt.FLOATING:
        raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for {d.name}')
    if p is not None and not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    if isinstance(out, Tensor) and not _in_order(out) and out.shape == input.shape and not out.requires_grad:
        return bernoulli_(out, input if p is None else p, generator=generator)
    tensors = [] if isinstance(p, (int, float)) else [input if p is None else p.expand(input.shape)]
    if active.levels is not None:
        active.levels.check_randomness([input, *tensors])
    made = sampled(
        lambda shape, *arrays: draw.bernoulli(bits_of(generator), shape, d, *(arrays or [p])),
        tuple(input.shape),
        *tensors,
        device=input.device,
        there=None if tensors else on_device.ones(d, p),
        generator=generator,
    )
    return write_out("bernoulli", out, without_gradient(made, input))


@bernoulli.simply()
def _bernoulli_of_host(p) -> Tensor | None:
    """Of probabilities that lie on the host."""
    array = on_host(p) if p._ge is None else None
    if array is None or array.dtype not in dt.FLOATING:
        return None
    ones = draw.bernoulli(bits_of(None), array.shape, array.dtype, array)
    return without_history(computed(p._value.aval, ones))


@composite(kind=Looking, out=Out("multinomial expects {found} tensor out, got: {wanted}", silent=True))
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn with the weights of each row.

    >>> torch.multinomial(torch.tensor([0., 1.]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    if not input.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.type()[6:-6]}")
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    shape = (*input.shape[:-1], num_samples)
    made = (
        meta_tensor(shape, dt.int64)
        if is_meta(input)
        else sampled(
            lambda shape, weights: draw.multinomial(
                bits_of(generator),
                weights.reshape(-1, weights.shape[-1]) if weights.ndim > 2 else weights,
                num_samples,
                replacement,
            ).reshape(shape),
            shape,
            input,
        )
    )
    return write_out("multinomial", out, made)


@multinomial.simply(int)
def _multinomial_of_host(weights, num_samples) -> Tensor | None:
    """Of weights that lie on the host."""
    array = on_host(weights)
    n = 0 if array is None else array.shape[-1]
    return without_history(below(from_numpy(draw.multinomial(bits_of(None), array, num_samples)), n)) if n else None


def one_of_each(weights: Tensor) -> Tensor:
    """For each row of weights, along the last dimension, an index drawn with them."""

    def drawn(shape, weights):
        return draw.multinomial(bits_of(None), weights.reshape(-1, weights.shape[-1]), 1, True).reshape(shape)

    return sampled(drawn, tuple(weights.shape[:-1]), weights)


@composite(method=False, node="PoissonBackward0")
def poisson(input, generator=None):
    """Numbers of the Poisson distributions of these rates.

    >>> torch.poisson(torch.tensor([0., 0.]))
    tensor([0., 0.])
    """
    return without_gradient(
        sampled(lambda shape, rates: draw.poisson(bits_of(generator), rates), input.shape, input), input
    )


@composite(method=False)
def binomial(count, prob, generator=None):
    """Numbers of the binomial distributions of these counts and probabilities.

    >>> torch.binomial(torch.tensor([4., 4.]), torch.tensor([0., 1.]))
    tensor([0., 4.])
    """
    return sampled(lambda shape, n, chance: draw.binomial(bits_of(generator), n, chance), count.shape, count, prob)


@composite(name="_standard_gamma", method=False)
def standard_gamma(input, generator=None):
    """Numbers of the gamma distributions of these shapes, differentiable by them."""
    return gamma_of(
        input, sampled(lambda shape, alpha: draw.standard_gamma(bits_of(generator), alpha), input.shape, input)
    )


@composite(name="_sample_dirichlet", method=False)
def sample_dirichlet(input, generator=None):
    """Points of the Dirichlet distributions of these concentrations, differentiable by them."""
    return dirichlet_of(
        input, sampled(lambda shape, alpha: draw.dirichlet(bits_of(generator), alpha), input.shape, input)
    )


# ---- the functions of torch.random in torch ------------------------------------------------------

NAMESPACE = {
    name: getattr(seeds, name)
    for name in (
        "Generator",
        "default_generator",
        "manual_seed",
        "seed",
        "initial_seed",
        "get_rng_state",
        "set_rng_state",
    )
}
