"""torch._foreach_*: an op on a whole list of tensors, recorded as one unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .... import primitives as p
from ....core import dtypes as dt
from ....core.graph import simplified
from ....core.trace import Builder
from ....engine import guarded, pending, record
from ....engine.signatures import bounded
from ....ops.signature import Weak, describe, placeholder
from ...dispatch.inplace import fitted
from ...dispatch.op import composite, registry
from ...dispatch.refusals import traced
from ...dispatch.slots import aval_of_tensor
from ...tape.apply import GraphOp, apply
from ...tape.modes import grad_mode, state
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.types import scalar_name
from ...views.cells import assign, check_writable
from ..linalg import matmul
from ..reduce.reduction import axes_of, vector_norm_of
from . import arithmetic as pointwise
from . import comparison, functions, special  # noqa: F401  their ops have forms for lists

EMPTY_LIST = "Tensor list must have at least one tensor."
SCALARS = "Tensor list must have same number of elements as scalar list."
LENGTHS = "Tensor lists must have the same number of tensors, got {} and {}"


class Foreach:
    """An op on lists: `body` is a function of one element of each list, as an op's body is.

    Arguments that are lists go element by element; tensors and numbers go with every element.
    """

    def __init__(self, name: str, body: Callable, numbers_first: bool = False):
        self.name, self.body, self.numbers_first = name, body, numbers_first
        self.ops: dict[tuple, GraphOp] = bounded({}, GraphOp.units)

    def resolve(self, args: tuple, kwargs: dict) -> tuple[GraphOp, list, int]:
        """The op at the signature of a call, its operands, and the length of the lists."""
        n = self._length(args)
        operands: list = []
        names = tuple(kwargs)
        columns = [*args, *kwargs.values()]
        key = [n, names, _types.defaults.dtype]
        for column in columns:
            key.append(self._describe(column, operands))
        key = tuple(key)
        op = self.ops.get(key)
        if op is None:
            op = self.ops[key] = self._trace(n, args, kwargs)
        return op, operands, n

    def _length(self, args) -> int:
        lists = [a for a in args if isinstance(a, (list, tuple))]
        for other in lists[1:]:
            if len(other) != len(lists[0]):
                numbers = not (other and isinstance(other[0], Tensor))
                raise RuntimeError(SCALARS if numbers else LENGTHS.format(len(lists[0]), len(other)))
        if not lists or not lists[0]:
            raise RuntimeError(EMPTY_LIST)
        return len(lists[0])

    def _describe(self, x, operands: list):
        """This argument's part of the signature; what varies is appended to `operands`."""
        if active.levels is None and isinstance(x, (list, tuple)):
            try:  # the usual case, a list of tensors
                avals = tuple([y._value.aval for y in x])
            except AttributeError:
                pass
            else:
                operands += x
                return avals
        return describe(x, operands, aval_of_tensor)

    def _trace(self, n: int, args, kwargs) -> GraphOp:
        def body(builder: Builder) -> list:
            columns = [self._column(builder, a, n) for a in args]
            named = {k: self._column(builder, v, n) for k, v in kwargs.items()}
            return [self.body(*[c[i] for c in columns], **{k: c[i] for k, c in named.items()}) for i in range(n)]

        return GraphOp(simplified(traced(self.name, body)[0]), self.name, True)

    def _column(self, builder: Builder, x, n: int) -> Sequence:
        """What stands for an argument in each of n calls of the body."""
        found = placeholder(builder, x, aval_of_tensor)
        return found if isinstance(x, (list, tuple)) else [found] * n

    def __call__(self, *args, **kwargs) -> tuple:
        op, operands, _ = self.resolve(args, kwargs)
        return tuple(apply(op, operands))

    def inplace(self, tensors, *args, **kwargs):
        """The same, with the results assigned to the first list's tensors."""
        op, operands, _ = self.resolve((tensors, *args), kwargs)
        values = _plain_values(op, operands, tensors)
        if (values is None or len({*map(id, operands)}) < len(operands)) and _share_memory(operands, tensors):
            for i, tensor in enumerate(tensors):  # as PyTorch does: the second reads what the first has written
                own = {k: _only(x, i) for k, x in kwargs.items()}
                self.inplace([tensor], *[_only(x, i) for x in args], **own)
            return tensors
        if values is not None:
            for tensor, value in zip(tensors, record(op.unit, values)):
                tensor._value = guarded(value, tensor._value) if pending else value
                tensor._own_version += 1
            return tensors
        for tensor in tensors:
            check_writable(tensor)
        for tensor, result in zip(tensors, apply(op, operands)):
            assign(tensor, fitted(tensor, result))
        return tensors


def _share_memory(operands, tensors) -> bool:
    """Whether what is written to one of several tensors is written to, or read, for another."""
    if len(tensors) == 1:
        return False
    memory = [x if x._view is None else x._view.cell for x in operands if isinstance(x, Tensor)]
    return len({*map(id, memory)}) < len(memory)


def _only(x, i: int):
    """An argument as the call for the i-th tensor alone has it."""
    return [x[i]] if isinstance(x, (list, tuple)) else x


def _plain_values(op: GraphOp, operands, tensors) -> list | None:
    """The operands' values if results can simply replace those of `tensors`: no views, levels,
    tape or other dtypes; otherwise None."""
    if active.levels is not None:
        return None
    values, taped = [], state.enabled
    for x in operands:
        if isinstance(x, Tensor):
            if x._view is not None or taped and x._ge is not None:
                return None
            x = x._value
        values.append(x)
    same = [t._value.aval for t in tensors] == list(op.unit.out_avals)
    return values if same else None


# ---- the bodies ----------------------------------------------------------------------------------


def _scaled_product(combine):
    """addcmul and addcdiv."""

    def body(x, y, z, value=1):
        return combine.fun(x, y, z, value=value)

    return body


def _listed(args: tuple) -> tuple:
    """The arguments with a tensor of scalars, one for each element, as a list of numbers."""
    return tuple(x.tolist() if isinstance(x, Tensor) and x.ndim == 1 else x for x in args)


LAST = ("scalars", "scalar", "weights")  # what PyTorch's overloads call the last operand


def _positional(args: tuple, kwargs: dict) -> tuple:
    """The arguments with an operand that is named as in one of PyTorch's overloads at its place."""
    found = [kwargs.pop(name) for name in LAST if name in kwargs]
    return (*args, *found)


def _norm(x, ord=2, dtype=None):
    if isinstance(ord, Weak):
        raise TypeError("_foreach_norm takes an order that is written into the graph")
    if x.aval.dtype not in dt.INEXACT:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {scalar_name(x.aval.dtype)}"
        )
    x = p.convert(x, dtype=_types.numpy_dtype(dtype, x.aval.dtype))
    out = vector_norm_of(x, axes_of(x, None), float(ord))
    return p.convert(out, dtype=dt.real_of(x.aval.dtype))


def _power_sum(x, ord=2, dtype=None):
    x = p.convert(x, dtype=_types.numpy_dtype(dtype, x.aval.dtype))
    powers = pointwise.power(p.abs(x), ord)
    return p.reduce_sum(powers, axes=axes_of(x, None))


UNARY = (
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
)
BINARY = ("add", "sub", "mul", "div", "lerp")
BOUNDS = {
    "clamp_max": pointwise.minimum,
    "maximum": pointwise.maximum,
    "clamp_min": pointwise.maximum,
    "minimum": pointwise.minimum,
}

BODIES: dict[str, Callable] = {name: registry[name].fun for name in (*UNARY, *BINARY)}
BODIES |= {name: op.fun for name, op in BOUNDS.items()}
BODIES |= {
    "clone": p.copy,
    "zero": lambda x: p.zeros(x.aval),
    "copy": lambda x, source, non_blocking=False: p.convert(
        p.broadcast_in_dim(source, shape=x.aval.shape, dims=tuple(range(x.aval.ndim - source.aval.ndim, x.aval.ndim))),
        dtype=x.aval.dtype,
    ),
    "max": lambda x: p.reduce_max(x, axes=axes_of(x, None)),
    "mm": matmul.mm.fun,
    "norm": _norm,
    "powsum": _power_sum,
    "pow": pointwise.power,
    "addcmul": _scaled_product(pointwise.addcmul),
    "addcdiv": _scaled_product(pointwise.addcdiv),
}
NO_INPLACE = {"max", "mm", "norm", "powsum", "clone"}
ONLY_INPLACE = {"zero", "copy"}
STATIC_NUMBER = {"norm", "powsum"}  # the number is an order, part of the signature


class _StaticNumbers(Foreach):
    """Numbers are part of the signature: the order of a norm."""

    def _describe(self, x, operands: list):
        return (x.__class__, x) if isinstance(x, (int, float)) else super()._describe(x, operands)

    def _column(self, builder: Builder, x, n: int) -> Sequence:
        return [x] * n if isinstance(x, (int, float)) else super()._column(builder, x, n)


def _declare(name: str, body: Callable):
    cls = _StaticNumbers if name in STATIC_NUMBER else Foreach
    op = cls(f"_foreach_{name}", body)
    forms = {"method": False, "function": True}
    prepared = _listed if name in ("addcmul", "addcdiv") else lambda args: args
    if name not in ONLY_INPLACE:

        def function(*args, **kwargs):
            args = _positional(args, kwargs) if kwargs else args
            return op(*prepared(args), **kwargs)

        function.__doc__ = f"torch.{name} of each tensor of a list."
        composite(function, name=f"_foreach_{name}", **forms)
    if name not in NO_INPLACE:

        def inplace(*args, **kwargs):
            args = _positional(args, kwargs) if kwargs else args
            return op.inplace(*prepared(args), **kwargs)

        inplace.__doc__ = f"torch.{name} in place of each tensor of a list."
        composite(inplace, name=f"_foreach_{name}_", **forms)


for _name, _body in BODIES.items():
    _declare(_name, _body)


# ---- scaled gradients ----------------------------------------------------------------------------


@composite(method=False)
def _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale):
    """Multiply tensors by inv_scale, and set found_inf to 1 if an element is infinite or nan."""
    with grad_mode(False):
        finite = [Tensor.isfinite(x).all() for x in self]
        for x in self:
            x.mul_(inv_scale.to(x.dtype))
        for fine in finite:
            found_inf.masked_fill_(~fine, 1.0)


@composite(method=False)
def _amp_update_scale_(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval):
    """Lower a scale if found_inf is not 0; raise it after growth_interval calls in which it was."""
    with grad_mode(False):
        overflowed = (found_inf != 0).reshape(self.shape)
        count = (growth_tracker + 1).masked_fill(overflowed.reshape(growth_tracker.shape), 0)
        grows = (count == growth_interval).reshape(self.shape)
        raised = (self * scale_growth_factor).where(grows & (self * scale_growth_factor).isfinite(), self)
        self.copy_((self * scale_backoff_factor).where(overflowed, raised))
        growth_tracker.copy_(count.masked_fill(grows.reshape(count.shape), 0))
    return self
