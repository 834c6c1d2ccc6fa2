"""Products with matrices of small integers, as quantised networks keep their weights."""

from __future__ import annotations

from ...dispatch.op import composite, torch_op
from ...dispatch.slots import Tensor
from ...tensors.types import of_numpy
from ..values import aval_of, c_name, dt, like, p, wide

BYTE = of_numpy(dt.uint8)


def _require(fact: bool, name: str, text: str):
    if not fact:
        raise RuntimeError(f"{name} : expect {text}")


def _times_transposed(x, weight):
    """x weight^T of values in the dtype that products of x are computed in."""
    return p.dot_general(wide(x), like(weight, wide(x)), contract=((1,), (1,)))


def _scale(x, scales, d: int = 1):
    shape = aval_of(x).shape
    return p.mul(x, p.broadcast_in_dim(like(scales, x), shape=shape, dims=(d,)))


@composite(name="_weight_int8pack_mm", method=False)
def weight_int8pack_mm(input, mat2, scales):
    """input mat2^T, mat2 being rows of bytes, each times its scale.

    >>> torch._weight_int8pack_mm(torch.ones(1, 2), torch.tensor([[1, 2]], dtype=torch.int8), torch.tensor([0.5]))
    tensor([[1.5000]])
    """
    return _bytes_product(input, mat2, scales)


@torch_op
def _bytes_product(input: Tensor, mat2: Tensor, scales: Tensor):
    name, x, w = "_weight_int8pack_mm_cpu", aval_of(input), aval_of(mat2)
    _require(x.dtype in dt.FLOATING, name, "A to be either 32-bit or 16-bit float tensor.")
    _require(x.ndim == 2, name, "A to be 2D tensor.")
    _require(w.dtype == dt.int8, name, "B to be int8 tensor.")
    _require(w.ndim == 2 and w.shape[1] == x.shape[1], name, f"B.size(1) == {x.shape[-1]}")
    _require(aval_of(scales).shape == w.shape[:1], name, f"scales to be 1d tensor with size {w.shape[0]}")
    return like(_scale(_times_transposed(input, mat2), scales), input)


@composite(name="_convert_weight_to_int4pack_for_cpu", method=False)
def convert_weight_to_int4pack_for_cpu(input, innerKTiles):
    """Rows of numbers from 0 to 15 (int32), two in a byte."""
    name = "_convert_weight_to_int4pack_for_cpu"
    _require(input.ndim == 2 and str(input.dtype) == "torch.int32", name, "weight to be int32 matrix.")
    _require(input.shape[1] % 2 == 0, name, "an even number of columns")
    return (input[:, ::2] | (input[:, 1::2] << 4)).to(BYTE)


@composite(name="_weight_int4pack_mm_for_cpu", method=False)
def weight_int4pack_mm_for_cpu(input, mat2, qGroupSize, qScaleAndZeros):
    """input W^T, where W is (mat2 - 8) scale + zero in groups of a row's columns."""
    return _nibbles_product(input, mat2, qScaleAndZeros, qGroupSize)


@torch_op
def _nibbles_product(input: Tensor, mat2: Tensor, qScaleAndZeros: Tensor, qGroupSize):
    name, x, w = "_weight_int4pack_mm_for_cpu", aval_of(input), aval_of(mat2)
    n, k = w.shape[0], 2 * w.shape[1]
    _require(w.dtype == dt.uint8, name, "B to be uint8 tensor.")
    _require(x.ndim == 2 and x.shape[1] == k, name, f"A to have {k} columns")
    _require(qGroupSize in (32, 64, 128, 256), name, "qGroupSize to be 32, 64, 128 or 256")
    _require(
        aval_of(qScaleAndZeros).shape == (k // qGroupSize, n, 2),
        name,
        f"qScaleAndZeros to be 3d tensor with sizes [:, {n}, 2]",
    )
    low, high = p.rem(mat2, p.full(w.shape, 16, dt.uint8)), p.div(mat2, p.full(w.shape, 16, dt.uint8))
    pairs = p.concatenate(*[p.expand_dims(part, dims=(2,)) for part in (low, high)], dimension=2)
    groups = like(p.reshape(pairs, shape=(n, k // qGroupSize, qGroupSize)), wide(input))
    groups = p.sub(groups, p.full(aval_of(groups).shape, 8, aval_of(groups).dtype))
    rows = p.transpose(like(qScaleAndZeros, groups), permutation=(2, 1, 0))
    scale, zero = (
        p.broadcast_in_dim(
            p.reshape(p.slice_in_dim(rows, start=i, limit=i + 1, dimension=0), shape=aval_of(rows).shape[1:]),
            shape=aval_of(groups).shape,
            dims=(0, 1),
        )
        for i in (0, 1)
    )
    weight = p.reshape(p.add(p.mul(groups, scale), zero), shape=(n, k))
    return like(_times_transposed(input, weight), input)


@composite(name="_int_mm", method=False)
def int_mm(input, mat2):
    """The product of matrices of bytes, in int32.

    >>> torch._int_mm(torch.full((1, 2), 100, dtype=torch.int8), torch.full((2, 1), 100, dtype=torch.int8))
    tensor([[20000]], dtype=torch.int32)
    """
    return _exact_product(input, mat2)


@torch_op
def _exact_product(input: Tensor, mat2: Tensor):
    for name, x in (("self", input), ("mat2", mat2)):
        if aval_of(x).ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {aval_of(x).ndim}")
        if aval_of(x).dtype != dt.int8:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} dtype to be of type int8 but got {c_name(x)}")
    n, m = aval_of(input).shape[1], aval_of(mat2).shape[0]
    if n != m:
        raise RuntimeError(f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {n} and {m}")
    x, y = (p.convert(v, dtype=dt.int32) for v in (input, mat2))
    return p.dot_general(x, y, contract=((1,), (0,)))
