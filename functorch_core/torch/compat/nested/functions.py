"""What functions of torch do with nested tensors, by their names: those of elements here, others by layout."""

from __future__ import annotations

from collections.abc import Callable

from .... import torch
from ..masked.maskedtensor.binary import BINARY_NAMES
from ..masked.maskedtensor.unary import UNARY_NAMES
from . import jagged, strided
from .tensor import NestedTensor

MISSING = (
    "torch.{name} of nested tensors of layout {layout} is not implemented by functorch-core: compute it of the "
    "examples, [f(x) for x in nested.unbind()], of nested.values(), or of nested.to_padded_tensor(0.)"
)
BROADCAST = "cannot call binary pointwise function {name} with inputs of shapes {} and {}"
ONE_NESTED = "Expected both self and other to be nested, but got a nested self and non-nested other"
# Functions of elements beside those that masked tensors have.
ELEMENTWISE = """addcdiv addcmul bernoulli celu clamp_max clamp_min copysign dropout elu erfinv fill float_power gelu
    hardshrink hardsigmoid hardswish hardtanh heaviside hypot isclose isfinite isinf isneginf isposinf leaky_relu lerp
    logical_and logical_not logical_or logical_xor logsigmoid masked_fill mish relu relu6 rfloordiv rmod rpow rsub
    rtruediv selu silu softplus
    softshrink softsign tanhshrink threshold where xlogy zero""".split()
# They give other elements at the same places.
KEEPING = """bfloat16 bool byte char clone contiguous cpu cuda double empty_like float full_like half int long
    ones_like pin_memory rand_like randint_like randn_like short to type type_as zeros_like""".split()


def dispatch(func: Callable, args: tuple, kwargs: dict):
    """A call of a torch function with a nested tensor among its arguments."""
    name = getattr(func, "__name__", "")
    plain = name.strip("_") if name.startswith("__") else name
    like = first_nested((*args, *kwargs.values()))
    table = TABLES[like.layout]
    if name in table or plain in table:
        return _called(table.get(name, table.get(plain)), func, args, kwargs)
    if plain.endswith("_") and plain[:-1] in TABLE and isinstance(args[0], NestedTensor):
        return _in_place(func, *args, **kwargs)
    raise NotImplementedError(MISSING.format(name=name, layout=like.layout))


def _called(rule: Callable, func, args: tuple, kwargs: dict):
    """What a function does with arguments; a TypeError of arguments that it does not take is of the function's name."""
    try:
        return rule(func, *args, **kwargs)
    except TypeError as error:
        said = str(error)
        if said.startswith(f"{rule.__name__}() "):
            raise TypeError(f"{func.__name__}{said.removeprefix(rule.__name__)}, for nested tensors") from None
        raise


def first_nested(args) -> NestedTensor:
    """The first nested tensor among arguments, which may be lists of tensors."""
    flat = (y for x in args for y in (x if isinstance(x, (tuple, list)) else (x,)))
    return next(x for x in flat if isinstance(x, NestedTensor))


def _operands(func, like: NestedTensor, args) -> list:
    """What a function of elements is called of in the place of arguments: their elements, as those of `like` lie."""
    name = func.__name__.strip("_")
    return [_operand(name, like, x) if isinstance(x, torch.Tensor) else x for x in args]


def _operand(name: str, like: NestedTensor, x: torch.Tensor):
    if isinstance(x, NestedTensor):
        if not jagged.fits(like, x) if like.layout is torch.jagged else not strided.fits(like, x):
            raise _mismatch(name, like, x)
        return x._packed
    if not x.ndim:
        return x
    if like.layout is torch.strided:
        raise RuntimeError(ONE_NESTED)
    found = jagged.spread(like, x)
    if found is None:
        raise _mismatch(name, like, x)
    return found


def _mismatch(name: str, like: NestedTensor, x: torch.Tensor) -> RuntimeError:
    if like.layout is torch.strided:
        return RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
    shapes = [tuple(y.shape) if y.layout is torch.jagged or not y.is_nested else "nested" for y in (like, x)]
    return RuntimeError(BROADCAST.format(*shapes, name=name))


def _elementwise(func, *args, **kwargs):
    like = first_nested((*args, *kwargs.values()))
    given = dict(zip(kwargs, _operands(func, like, kwargs.values())))
    found = func(*_operands(func, like, args), **given)
    return like._with(found)


def _in_place(func, x: NestedTensor, *args, **kwargs):
    func(x._packed, *_operands(func, x, args), **kwargs)
    return x


def _keeping(func, x: NestedTensor, *args, **kwargs):
    args = [y._packed if isinstance(y, NestedTensor) else y for y in args]
    return x._with(func(x._packed, *args, **kwargs))


def _grad(func, outputs, inputs, grad_outputs=None, *args, **kwargs):
    """torch.autograd.grad: by what the tensors consist of; the gradients are nested as the inputs."""
    outputs, inputs, cts = (x if isinstance(x, (tuple, list)) else (x,) for x in (outputs, inputs, grad_outputs))
    outputs, sources, cts = ([_packed(x) for x in xs] for xs in (outputs, inputs, cts))
    found = func(outputs, sources, None if grad_outputs is None else cts, *args, **kwargs)
    return tuple(x._with(g) if isinstance(x, NestedTensor) and g is not None else g for g, x in zip(found, inputs))


def _packed(x):
    return x._packed if isinstance(x, NestedTensor) else x


def _is_same_size(func, x, y) -> bool:
    if not (isinstance(x, NestedTensor) and isinstance(y, NestedTensor)) or x.layout is not y.layout:
        raise RuntimeError("Expected both self and other to be nested, of one layout")
    return (jagged if x.layout is torch.jagged else strided).fits(x, y)


def _of_all(func, x, y, *args, **kwargs) -> bool:
    """equal and allclose: of examples of the same shapes."""
    xs, ys = x.unbind(), y.unbind()
    same = [a.shape for a in xs] == [b.shape for b in ys]
    return same and all(func(a, b, *args, **kwargs) for a, b in zip(xs, ys))


TABLE: dict[str, Callable] = {
    **dict.fromkeys((*UNARY_NAMES, *BINARY_NAMES, *ELEMENTWISE), _elementwise),
    **dict.fromkeys(KEEPING, _keeping),
    "allclose": _of_all,
    "copy_": _in_place,
    "equal": _of_all,
    "grad": _grad,
    "is_same_size": _is_same_size,
}
TABLES = {torch.jagged: {**TABLE, **jagged.TABLE}, torch.strided: {**TABLE, **strided.TABLE}}
NestedTensor.dispatch, NestedTensor.tables = staticmethod(dispatch), TABLES
