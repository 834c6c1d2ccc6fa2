"""Functions of torch that PyTorch has beside methods of Tensor, documented or not."""

from __future__ import annotations

from ..dispatch.op import registry
from ..tape.node_names import rename
from ..tensors import types as _types
from ..tensors.types import contiguous_format
from .nn.activation import torch_rrelu

legacy_contiguous_format = contiguous_format
has_lapack = True
has_mkl = has_openmp = False
spmm = registry["mm"]


def _of_method(name: str, doc: str, example: str):
    def function(input, *args, **kwargs):
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\n    {example}\n    "
    return function


as_strided_ = _of_method(
    "as_strided_",
    "The tensor as a view of its memory with these strides.",
    ">>> torch.as_strided_(torch.arange(4), (2,), (2,))\n    tensor([0, 2])",
)
detach = _of_method(
    "detach",
    "The tensor without its history; it shares memory.",
    ">>> torch.detach(torch.ones(2, requires_grad=True))\n    tensor([1., 1.])",
)
detach_ = _of_method(
    "detach_",
    "Take a tensor out of the graph.",
    ">>> torch.detach_(torch.ones(2, requires_grad=True) * 2)\n    tensor([2., 2.])",
)
get_device = _of_method(
    "get_device", "The index of the device; -1 for the CPU.", ">>> torch.get_device(torch.ones(2))\n    -1"
)


def _running_with_deploy() -> bool:
    """False: nothing is deployed."""
    return False


def is_distributed(input) -> bool:
    """False.

    >>> torch.is_distributed(torch.ones(2))
    False
    """
    return False


def is_same_size(input, other) -> bool:
    """Whether two tensors have one shape.

    >>> torch.is_same_size(torch.zeros(2), torch.zeros(3))
    False
    """
    return input.shape == other.shape


def dsmm(input, mat2):
    """The product of a sparse matrix with a dense one: mm.

    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    return input.mm(mat2)


def norm_except_dim(v, pow: int = 2, dim: int = 0):
    """The norms over all dimensions but one, which stay with one element; over all for dim=-1.

    >>> torch.norm_except_dim(torch.tensor([[3., 4.], [6., 8.]]), 2, 0)
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return v.norm(pow)
    dims = [d for d in range(v.ndim) if d != dim]
    return v.norm(pow, dims, keepdim=True) if dims else v.abs()


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """rrelu in place.

    >>> torch.rrelu_(torch.tensor([-2., 3.]), 0.25, 0.75)
    tensor([-1.,  3.])
    """
    return input.copy_(torch_rrelu(input, lower, upper, training, generator))


def _softmax_backward_data(grad_output, output, dim: int, input_dtype):
    """The cotangent of a softmax's operand."""
    product = grad_output * output
    found = (product - output * product.sum(dim, keepdim=True)).to(input_dtype)
    rename(found, "SoftmaxBackwardDataBackward0", (grad_output, output))
    return found


def _convert_indices_from_coo_to_csr(input, size: int, *, out_int32: bool = False):
    """Where each of `size` rows begins among sorted row indices, and the number of these."""
    dtype = _types.by_name["int32" if out_int32 else "int64"]
    ends = registry["bincount"](input, minlength=size).cumsum(0)
    return registry["cat"]([ends.new_zeros(1), ends]).to(dtype)


def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32: bool = False, transpose: bool = False):
    """[rows, columns] of the elements, of where each row begins; [columns, rows] if transposed."""
    dtype = _types.by_name["int32" if out_int32 else "int64"]
    rows = registry["arange"](len(crow_indices) - 1).repeat_interleave(crow_indices.diff())
    both = [col_indices, rows] if transpose else [rows, col_indices]
    return registry["stack"]([x.to(dtype) for x in both])


NAMESPACE = {
    name: thing
    for name, thing in list(globals().items())
    if name not in ("annotations", "contiguous_format", "_of_method", "_types", "registry", "rename")
    and not name.startswith("__")
}
