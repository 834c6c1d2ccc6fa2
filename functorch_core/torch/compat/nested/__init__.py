"""torch.nested: tensors of examples of several shapes."""

from __future__ import annotations

from .... import torch
from ..._missing import getter as _getter
from ...tensors.base import Tensor as _Tensor
from . import functions as _functions  # noqa: F401  it tells the class what functions of torch do
from . import jagged as _jagged
from . import strided as _strided
from .tensor import NestedTensor as _NestedTensor
from .tensor import Ragged as _Ragged

__getattr__ = _getter(__name__)

_UNSUPPORTED = "Specified layout is unsupported for nested {what}: {layout}"
_ONE_RAGGED = (
    "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only "
    "allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
)
_ALL_SAME = "When constructing a nested tensor, all tensors in list must {what}"


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Copies of tensors of several shapes as one tensor, a leaf.

    Args:
        tensor_list: tensors, or lists of numbers, of one dtype and as many dimensions each.
        layout: torch.strided (the default; any shapes) or torch.jagged (one dimension differs in size).
        dtype, device, requires_grad: as of `torch.tensor`.

    Raises RuntimeError for layout torch.jagged if more than one dimension differs, or there is no tensor.

    >>> x = torch.nested.nested_tensor([torch.tensor([1., 2.]), torch.tensor([3.])], layout=torch.jagged)
    >>> (2 * x).unbind()
    (tensor([2., 4.]), tensor([6.]))
    """
    tensors = [torch.as_tensor(x, dtype=dtype, device=device).detach() for x in tensor_list]
    made = as_nested_tensor(tensors, layout=layout)
    return made.detach().clone().requires_grad_(requires_grad)


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """Tensors of several shapes as one tensor, whose gradient reaches them.

    Args:
        ts: a list or tuple of tensors; a tensor, whose rows are the examples; or a nested tensor of the layout.
        layout: torch.strided (the default) or torch.jagged, as of `nested_tensor`.

    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    >>> x = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
    >>> (x * 2).sum().backward()
    >>> b.grad
    tensor([2., 2., 2.])
    """
    layout = torch.strided if layout is None else layout
    if layout not in (torch.strided, torch.jagged):
        raise RuntimeError(_UNSUPPORTED.format(what="tensors", layout=layout))
    if not isinstance(ts, (_Tensor, list, tuple)) or not all(isinstance(x, _Tensor) for x in ts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, _NestedTensor):
        if ts.layout is not layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype)
    if isinstance(ts, _Tensor) and ts.dim() < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    examples = [x.to(device=device, dtype=dtype) for x in ts]
    _check(examples, layout)
    if layout is torch.strided:
        if not examples:
            return _NestedTensor.strided(torch.empty(0, dtype=dtype, device=device), [])
        return _strided.joined(examples)
    shapes = [x.shape for x in examples]
    ragged = [d for d in range(examples[0].dim()) if len({shape[d] for shape in shapes}) > 1]
    if len(ragged) > 1:
        raise RuntimeError(_ONE_RAGGED)
    return _jagged.joined(examples, ragged[0] + 1 if ragged else 1)


def _check(examples: list, layout):
    """Raise RuntimeError for examples that are no nested tensor together."""
    if not examples and layout is torch.jagged:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what, of in (
        ("have the same dtype", "dtype"),
        ("be on the same device", "device"),
        ("have the same dim", "ndim"),
    ):
        if len({getattr(x, of) for x in examples}) > 1:
            raise RuntimeError(_ALL_SAME.format(what=what))
    if layout is torch.jagged and not examples[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")


def to_padded_tensor(input, padding, output_size=None, out=None):
    """A dense tensor of the examples, each padded to the largest size.

    Args:
        input: a nested tensor.
        padding: the number in the places that are no example's.
        output_size: the shape of the result; by default as small as it can be.

    >>> x = torch.nested.nested_tensor([torch.ones(1), torch.ones(3)])
    >>> torch.nested.to_padded_tensor(x, 0.)
    tensor([[1., 0., 0.],
            [1., 1., 1.]])
    """
    found = input.to_padded_tensor(padding, output_size)
    return found if out is None else out.copy_(found)


def narrow(tensor, dim: int, start, length, layout=torch.strided):
    """The elements of each row from its start on, as many as its length, as a nested tensor.

    Args:
        tensor: a dense tensor, whose first dimension counts the rows.
        dim: the dimension that is narrowed; of layout torch.jagged it must be 1.
        start, length: numbers, or for layout torch.jagged int64 tensors with one for each row.
        layout: torch.strided (the default, a copy) or torch.jagged (the tensor's own memory).

    >>> x = torch.arange(6.).reshape(2, 3)
    >>> torch.nested.narrow(x, 1, torch.tensor([0, 1]), torch.tensor([1, 2]), layout=torch.jagged).unbind()
    (tensor([0.]), tensor([4., 5.]))
    """
    for what, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, _Tensor)):
            raise RuntimeError(f"{what} must be an integer or a tensor")
    if layout is torch.strided:
        if isinstance(start, _Tensor) or isinstance(length, _Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        if dim != 0:
            raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
        return as_nested_tensor(torch.unbind(tensor)[start : start + length])
    if layout is not torch.jagged:
        raise RuntimeError(_UNSUPPORTED.format(what="narrow", layout=layout))
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    n, longest = tensor.shape[:2]
    starts, lengths = (torch.as_tensor(x).reshape(-1).expand(n).clone() for x in (start, length))
    if bool((starts < 0).any() | (lengths < 0).any() | (starts + lengths > longest).any()):
        raise RuntimeError(f"narrow(): start and start + length must be within the {longest} elements of dimension 1")
    rows = starts + longest * torch.arange(n)
    offsets = torch.cat([rows, rows[-1:] + lengths[-1:]])
    return _NestedTensor.jagged(tensor.flatten(0, 1), _Ragged.of(offsets, lengths))


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """A nested tensor of layout torch.jagged of values that lie one behind the other; its gradient reaches them.

    Args:
        values: a dense tensor of all examples' elements.
        offsets: an int64 tensor of where each example begins, and where the last ends.
        lengths: an int64 tensor of the examples' sizes, if there are elements between them.
        jagged_dim: the dimension of the nested tensor that is ragged, 1 by default.
        min_seqlen, max_seqlen: the smallest and the largest size; they follow from the others here.

    >>> x = torch.nested.nested_tensor_from_jagged(torch.arange(5.), torch.tensor([0, 2, 5]))
    >>> x.sum(dim=1)
    tensor([1., 9.])
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)), None
    axis = 1 if jagged_dim is None else jagged_dim
    if axis < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    ragged = _Ragged.of(offsets, lengths)
    ends = [start + n for start, n in zip(ragged.starts, ragged.sizes)]
    if min([*ragged.starts, *ragged.sizes], default=0) < 0 or max(ends, default=0) > values.shape[axis - 1]:
        raise RuntimeError(
            "nested_tensor_from_jagged(): offsets must not decrease, and must lie within the "
            f"{values.shape[axis - 1]} elements of the values along the ragged dimension"
        )
    return _NestedTensor.jagged(values, ragged, axis)


def masked_select(tensor, mask):
    """The elements of each row where a mask is True, as a nested tensor of layout torch.jagged.

    >>> x = torch.arange(6.).reshape(2, 3)
    >>> torch.nested.masked_select(x, x % 2 == 0).unbind()
    (tensor([0., 2.]), tensor([4.]))
    """
    for what, x in (("tensor", tensor), ("mask", mask)):
        if x.layout is not torch.strided:
            raise RuntimeError(f"torch.nested.masked_select requires a strided {what}, given {x.layout}")
    lengths = mask.expand(tensor.shape).sum(dim=tensor.ndim - 1).view(-1)
    offsets = torch.nn.functional.pad(lengths.cumsum(dim=0), (1, 0))
    return _NestedTensor.jagged(tensor.masked_select(mask), _Ragged.of(offsets))


__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
