"""Tensors of several lengths in one: `NestedTensor`, and the symbol that stands for its ragged size.

It is a Tensor without a value of its own, as a masked one is: `__torch_function__` gives its parts to what the name of
the function stands for, in `jagged` (one dimension is ragged: `values` of all examples one behind the other, and where
each begins) or in `strided` (examples of any shapes of as many dimensions). The parts are on the tape.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import ClassVar

from .... import torch
from ....core.aval import aval
from ...dispatch.overrides import DisableTorchFunctionSubclass, activate
from ...tape.backward import backward as backward_from
from ...tensors import types as _types
from ...tensors.base import Tensor, wrap_dim

NO_SIZES = "a nested tensor of layout torch.strided has no {what}: those of examples differ, see x.unbind()"
IRREGULAR = "Given dimension {dim} is irregular and does not have a size."
NO_VALUE = (
    "this operation takes no nested tensors: give it nested.values(), the examples of nested.unbind(), or "
    "nested.to_padded_tensor(0.)"
)

_numbers = itertools.count(1)


class NestedInt:
    """The size of a ragged dimension: equal to itself alone, and to whatever has the same offsets.

    >>> x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    >>> n = x.shape[1]
    >>> n == x.shape[1], n == 3, n >= 0
    (True, False, True)
    """

    __slots__ = ("number", "factor")

    def __init__(self, number: int, factor: int = 1):
        self.number, self.factor = number, factor

    def _is(self, other) -> bool:
        return isinstance(other, NestedInt) and (self.number, self.factor) == (other.number, other.factor)

    def __eq__(self, other):
        return self._is(other)

    def __hash__(self):
        return hash((NestedInt, self.number, self.factor))

    def __mul__(self, n: int) -> NestedInt:
        if isinstance(n, int):
            return NestedInt(self.number, self.factor * n)
        return NotImplemented

    __rmul__ = __mul__

    def _compare(self, other, how, small: bool) -> bool:
        if self._is(other):
            return how(0, 0)
        if isinstance(other, int) and other <= 2 and (how in (operator.ge, operator.lt) or other < 2):
            return small
        raise ValueError(f"{self} {how.__name__} {other} is not known: the size is another for each example")

    def __ge__(self, other):
        return self._compare(other, operator.ge, True)

    def __gt__(self, other):
        return self._compare(other, operator.gt, True)

    def __lt__(self, other):
        return self._compare(other, operator.lt, False)

    def __le__(self, other):
        return self._compare(other, operator.le, False)

    def __int__(self):
        raise RuntimeError(f"{self} is no number: the size is another for each example, see offsets()")

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"


class Ragged:
    """Where examples lie in values: they begin at `starts` and are `lengths` long; both as lists, too."""

    __slots__ = ("offsets", "lengths", "starts", "sizes", "symbol")

    def __init__(self, offsets: Tensor, lengths: Tensor | None):
        bounds = offsets.tolist()
        self.offsets, self.lengths, self.starts = offsets, lengths, bounds[:-1]
        self.sizes = [b - a for a, b in itertools.pairwise(bounds)] if lengths is None else lengths.tolist()
        self.symbol = NestedInt(next(_numbers))

    @classmethod
    def of(cls, offsets: Tensor, lengths: Tensor | None = None) -> Ragged:
        """The one of offsets and lengths, which is the same for the same tensors."""
        source = offsets if lengths is None else lengths
        known = getattr(source, "_ragged_by", None)
        if known is None or known.offsets is not offsets or known.lengths is not lengths:
            known = cls(offsets, lengths)
            source._ragged_by = known
        return known

    @classmethod
    def of_sizes(cls, sizes: list[int]) -> Ragged:
        """That of examples one behind the other."""
        return cls.of(torch.tensor([0, *itertools.accumulate(sizes)]))

    @property
    def longest(self) -> int:
        """The largest size."""
        return max(self.sizes, default=0)


class _Nowhere:
    """What stands where dense tensors in transforms have their level: an aval and nothing else."""

    __slots__ = ("aval",)

    def __init__(self, a):
        self.aval = a

    def __getattr__(self, name: str):
        raise TypeError("this operation is not implemented for nested tensors")


def _no_value(self):
    raise NotImplementedError(NO_VALUE)


def _forwarded(name: str):
    return property(lambda self: getattr(self._packed, name), doc=f"That of what it consists of: {name}.")


class NestedTensor(Tensor):
    """Examples of several shapes as one tensor, whose first dimension counts them.

    `torch.nested.nested_tensor` makes one.

    >>> x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    >>> x
    NestedTensor(size=(2, j1), offsets=tensor([0, 2, 5]), contiguous=True)
    """

    __module__ = "torch"
    # Of layout torch.jagged the values of all; of layout torch.strided all elements, in one dimension.
    _packed: Tensor
    _ragged: Ragged | None = None  # of layout torch.jagged
    _axis = 1  # the ragged dimension
    _shapes: list[tuple[int, ...]]  # of layout torch.strided: that of each example
    # What a function of torch does, and for each layout its functions by name: `functions` sets them.
    dispatch: ClassVar[Callable]
    tables: ClassVar[dict]
    device, grad_fn, dtype, is_meta = map(_forwarded, ("device", "grad_fn", "dtype", "is_meta"))
    is_leaf, output_nr, _version = map(_forwarded, ("is_leaf", "output_nr", "_version"))
    is_nested = True
    _value = property(_no_value)

    def __new__(cls, *args):
        activate()
        return object.__new__(cls)

    @classmethod
    def jagged(cls, values: Tensor, ragged: Ragged, axis: int = 1) -> NestedTensor:
        """The values of examples one behind the other along dimension `axis` - 1."""
        made = cls.__new__(cls)
        made._packed, made._ragged, made._axis = values, ragged, axis
        made._level = _Nowhere(aval((len(ragged.sizes), *values.shape), values._aval.dtype))
        return made

    @classmethod
    def strided(cls, packed: Tensor, shapes: list[tuple[int, ...]]) -> NestedTensor:
        """Examples of some shapes, of all elements one behind the other."""
        made = cls.__new__(cls)
        made._packed, made._shapes = packed, shapes
        made._level = _Nowhere(aval((len(shapes), *[1] * len(shapes[0] if shapes else ())), packed._aval.dtype))
        return made

    def _with(self, packed: Tensor) -> NestedTensor:
        """Other elements at the same places."""
        if self._ragged is None:
            return self.strided(packed, self._shapes)
        return self.jagged(packed, self._ragged, self._axis)

    def _of_padded(self, x: Tensor) -> NestedTensor:
        """A dense tensor of padded examples, nested as this one."""
        with DisableTorchFunctionSubclass():
            return self.tables[self.layout]["_of_padded"](self, x)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with DisableTorchFunctionSubclass():
            return cls.dispatch(func, args, kwargs or {})

    # ---- parts

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The examples."""
        if wrap_dim(dim, self.dim()) != 0:
            raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
        with DisableTorchFunctionSubclass():
            return tuple(self._examples())

    def _examples(self) -> list[Tensor]:
        if self._ragged is not None:
            places = zip(self._ragged.starts, self._ragged.sizes)
            return [self._packed.narrow(self._axis - 1, start, n) for start, n in places]
        found, start = [], 0
        for shape in self._shapes:
            n = _types.Size(shape).numel()
            found.append(self._packed.narrow(0, start, n).view(shape))
            start += n
        return found

    def to_padded_tensor(self, padding: float, output_size=None) -> Tensor:
        """A dense tensor of the examples, each padded to the largest size; see `torch.nested.to_padded_tensor`."""
        with DisableTorchFunctionSubclass():
            return self.tables[self.layout]["to_padded_tensor"](None, self, padding, output_size)

    def values(self) -> Tensor:
        """All elements: those of a jagged tensor in its dimensions but the first, others in one dimension."""
        with DisableTorchFunctionSubclass():
            return self._packed.view_as(self._packed) if self.requires_grad else self._packed.detach()

    def offsets(self) -> Tensor:
        """Where each example begins in `values()`, and where the last ends; of layout torch.jagged."""
        return self._as_jagged("offsets").offsets

    def lengths(self) -> Tensor | None:
        """The size of each example, None if they lie one behind the other; of layout torch.jagged."""
        return self._as_jagged("lengths").lengths

    def _as_jagged(self, what: str) -> Ragged:
        if self._ragged is None:
            raise RuntimeError(f"{what}() is a method of nested tensors of layout torch.jagged, not {self.layout}")
        return self._ragged

    _values, _offsets = property(values), property(offsets)
    _lengths = property(lengths)
    _ragged_idx = property(lambda self: self._axis)
    _max_seqlen = _maybe_max_seqlen = property(lambda self: self._as_jagged("_max_seqlen").longest)
    _min_seqlen = _maybe_min_seqlen = property(lambda self: min(self._as_jagged("_min_seqlen").sizes, default=0))

    def _nested_tensor_size(self) -> Tensor:
        """The shapes of the examples, as a matrix."""
        return torch.tensor([list(x.shape) for x in self._examples()])

    # ---- what a Tensor tells of itself

    @property
    def layout(self):
        """torch.jagged or torch.strided."""
        return _types.strided if self._ragged is None else _types.jagged

    @property
    def shape(self) -> _types.Size:
        """The size of each dimension; that of the ragged one is a symbol, equal to itself alone."""
        if self._ragged is None:
            raise RuntimeError(NO_SIZES.format(what="sizes"))
        sizes: list = [len(self._ragged.sizes), *self._packed.shape]
        sizes[self._axis] = self._ragged.symbol
        return tuple.__new__(_types.Size, sizes)

    def size(self, dim: int | None = None):
        """The shape, or the size of one dimension, a RuntimeError if it is another for each example."""
        if dim is None or self._ragged is not None:
            return self.shape if dim is None else self.shape[wrap_dim(dim, self.dim())]
        dim = wrap_dim(dim, self.dim())
        if dim == 0:
            return len(self._shapes)
        sizes = {shape[dim - 1] for shape in self._shapes}
        if len(sizes) > 1:
            raise RuntimeError(IRREGULAR.format(dim=dim))
        return sizes.pop()

    def stride(self, dim: int | None = None):
        """The steps in memory, of layout torch.jagged."""
        if self._ragged is None:
            raise RuntimeError(NO_SIZES.format(what="strides"))
        inner = self._packed.stride()
        strides = (self._ragged.symbol * inner[self._axis - 1], *inner)
        return strides if dim is None else strides[dim]

    def dim(self) -> int:
        """The number of dimensions, of which the first counts the examples."""
        return len(self._level.aval.shape)

    ndimension = dim
    ndim = property(dim)

    def numel(self) -> int:
        """The number of elements of all examples."""
        if self._ragged is None or self._ragged.lengths is None:
            return self._packed.numel()
        return sum(x.numel() for x in self._examples())

    nelement = numel

    def is_contiguous(self, memory_format=None) -> bool:
        """Whether the examples lie one behind the other, each contiguous."""
        if self._ragged is None:
            return True
        return self._ragged.lengths is None and self._axis == 1 and self._packed.is_contiguous()

    @property
    def requires_grad(self) -> bool:
        """Whether the examples require a gradient."""
        return self._packed.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool):
        self._packed.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        """Set requires_grad; returns the tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self):
        """The accumulated gradient, nested as this tensor is."""
        found = self._packed.grad
        return None if found is None else self._with(found)

    @grad.setter
    def grad(self, grad):
        self._packed.grad = grad._packed if isinstance(grad, NestedTensor) else grad

    @property
    def data(self) -> NestedTensor:
        """The same elements without history."""
        return self.detach()

    def detach(self) -> NestedTensor:
        """The same elements without history."""
        with DisableTorchFunctionSubclass():
            return self._with(self._packed.detach())

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradients to the leaves it is computed from; `gradient` is nested as this tensor is."""
        if gradient is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        gradient = gradient._packed if isinstance(gradient, NestedTensor) else gradient
        backward_from(self._packed, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        """Call a function with the gradient, nested as this tensor is, when it is computed."""

        def of_parts(grad):
            found = hook(self._with(grad))
            return found._packed if isinstance(found, NestedTensor) else found

        return self._packed.register_hook(of_parts)

    def retain_grad(self):
        """Keep the gradient of a tensor that is no leaf."""
        self._packed.retain_grad()

    # ---- Python

    def item(self):
        """Raises: it has no single element."""
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")

    def tolist(self):
        """Raises; the examples have lists: [x.tolist() for x in nested.unbind()]."""
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def numpy(self, *, force: bool = False):
        """Raises; the examples have arrays, and `to_padded_tensor(0.)` has one."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __bool__(self):
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def __len__(self) -> int:
        return self._level.aval.shape[0]

    def __iter__(self):
        return iter(self.unbind())

    def __deepcopy__(self, memo):
        with DisableTorchFunctionSubclass(), torch.no_grad():
            return self._with(self._packed.detach().clone()).requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol):
        ragged = self._ragged
        parts = (self._shapes,) if ragged is None else (ragged.offsets, ragged.lengths, self._axis)
        return _types.named("_utils._rebuild_nested"), (self._packed.detach(), self.requires_grad, *parts)

    def __repr__(self, *, tensor_contents=None) -> str:
        if self._ragged is None:
            with DisableTorchFunctionSubclass():
                shown = [repr(x.detach()).replace("\n", "\n  ") for x in self._examples()]
            body = "nested_tensor([\n  {}\n]{})" if shown else "nested_tensor([\n\n]{1})"
            return body.format(",\n  ".join(shown), self._of_gradient())
        sizes = ", ".join(map(str, self.shape))
        said = f"size=({sizes}), offsets={self._ragged.offsets}{self._of_gradient()}"
        return f"NestedTensor({said}, contiguous={self.is_contiguous()})"

    def _of_gradient(self) -> str:
        if self.grad_fn is not None:
            return f", grad_fn=<{type(self.grad_fn).__name__}>"
        return ", requires_grad=True" if self.requires_grad else ""

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return str(self).__format__(spec)


def rebuilt(packed: Tensor, requires_grad: bool, *parts) -> NestedTensor:
    """The nested tensor of what `__reduce_ex__` has saved."""
    if len(parts) == 1:
        made = NestedTensor.strided(packed, parts[0])
    else:
        made = NestedTensor.jagged(packed, Ragged.of(*parts[:2]), parts[2])
    return made.requires_grad_(requires_grad)
