"""The nodes that PyTorch makes of products which are one op here: what `node=` of their declarations is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...tensors.base import Tensor
from ...views.cells import layout_of
from ...views.strides import contiguous_strides, is_dense, view_strides

# ---- linear, matmul ------------------------------------------------------------------------------


def linear(a) -> str:
    """Of linear: one product, around which batches are flattened."""
    bias = a.bias is not None
    if a.input.ndim == 2:
        return "Addmm0(bias, input, T0(weight))" if bias else "Mm0(input, T0(weight))"
    if bias:
        return "View0(Addmm0(bias, View0(input), T0(weight)))"
    if a.input.ndim == 1:
        return "Squeeze4(Mm0(Unsqueeze0(input), T0(weight)))"
    return "UnsafeView0(Mm0(View0(input), T0(weight)))"


def matmul(a) -> str:
    """Of matmul, by the numbers of dimensions."""
    n, m = a.input.ndim, a.other.ndim
    if (n, m) == (1, 2):
        return "Squeeze4(Mm0(Unsqueeze0(input), other))"
    if max(n, m) <= 2:
        return "MmBackward0" if n == m == 2 else "MvBackward0" if n == 2 else "DotBackward0"
    if n >= 3 and m <= 2:
        kind = "Mv0" if m == 1 else "Mm0"
        return f"UnsafeView0({kind}({_flattened(a.input, 'input')}, other))"
    if n <= 2:  # PyTorch multiplies the transposes
        return "CloneBackward0" if n == 2 else "UnsafeView0(Mv0(View0(Transpose0(other)), input))"
    one, two = _batched(a.input, a.other, "input"), _batched(a.other, a.input, "other")
    return f"UnsafeView0(Bmm0({one}, {two}))"


def _flattened(x: Tensor, name: str) -> str:
    """The node of x.reshape(-1, n): a view, or a copy where it must be one."""
    shape, strides, _ = layout_of(x)
    flat = (-1 if 0 in shape else x.numel() // shape[-1], shape[-1])
    if view_strides(shape, strides, flat) is not None:
        return f"View0({name})"
    return f"UnsafeView0(Clone0({name}))"


def _batched(x: Tensor, other: Tensor, name: str) -> str:
    """The node of x.expand(batch of both, -1, -1).reshape(-1, n, m)."""
    batch = np.broadcast_shapes(x.shape[:-2], other.shape[:-2])
    shape, strides, _ = layout_of(x)
    lead = len(batch) + 2 - len(shape)
    strides = (0,) * lead + tuple(strides)
    sizes = (1,) * lead + tuple(shape)
    strides = [0 if n == 1 and n != m else s for n, m, s in zip(sizes, batch, strides)] + list(strides[-2:])
    full, merged = (*batch, *shape[-2:]), (int(np.prod(batch)), *shape[-2:])
    if view_strides(full, strides, merged) is None:
        return f"UnsafeView0(Clone0(Expand0({name})))"
    whole = tuple(strides) == contiguous_strides(full)
    return f"{'View0' if whole else 'ReshapeAlias0'}(Expand0({name}))"


def bilinear(a) -> str:
    """Of bilinear."""
    product = "View0(Trilinear0(View0(input1), weight, View0(input2)))"
    return product if a.bias is None else f"Add0({product}, bias)"


def matrix_power(a) -> str:
    """Of the powers that are one or two products of matrices."""
    if a.n in (0, 1, -1):
        return "LinalgInvExBackward0" if a.n < 0 else "CopyBackwards"
    if a.input.ndim != 2 or a.n not in (2, 3):
        return "MmBackward0" if a.input.ndim == 2 else "UnsafeViewBackward0"
    return "Mm0(input, input)" if a.n == 2 else "Mm0(Mm0(input, input), input)"


# ---- products of several, tensordot --------------------------------------------------------------


def multi_dot(argument: str, otherwise: str):
    """Of two or three matrices; of more the order of products is decided by their sizes."""

    def rule(a):
        tensors = getattr(a, argument)
        n = len(tensors)
        if n > 3:
            return otherwise
        names = [f"{argument}{i}" for i in range(n)]
        for i in (0, n - 1):
            if tensors[i].ndim == 1:
                names[i] = f"Unsqueeze0({names[i]})"
        if n == 2:
            return f"View0(Mm0({names[0]}, {names[1]}))"
        rows, inner = tensors[0].shape if tensors[0].ndim == 2 else (1, tensors[0].shape[0])
        last, columns = tensors[2].shape if tensors[2].ndim == 2 else (tensors[2].shape[0], 1)
        if rows * last * (inner + columns) > inner * columns * (rows + last):
            return f"View0(Mm0({names[0]}, Mm0({names[1]}, {names[2]})))"
        return f"View0(Mm0(Mm0({names[0]}, {names[1]}), {names[2]}))"

    return rule


def tensordot(a) -> str:
    """A product of matrices, of the dimensions that are summed and of the others."""
    rows = [d for d in range(a.input.ndim) if d not in a.dims_self]
    columns = [d for d in range(a.other.ndim) if d not in a.dims_other]
    one = _reshaped(a.input, [rows, a.dims_self], "input")
    two = _reshaped(a.other, [a.dims_other, columns], "other")
    return f"View0({'Mm0' if rows or columns else 'Dot0'}({one}, {two}))"


def _reshaped(x: Tensor, groups, name: str) -> str:
    """The node of x.permute(all dimensions of the groups).reshape(one dimension a group)."""
    shape, strides, _ = layout_of(x)
    order = [d for group in groups for d in group]
    shape, strides = tuple(shape[d] for d in order), tuple(strides[d] for d in order)
    merged = tuple(math.prod(x.shape[d] for d in group) for group in groups)
    if strides == contiguous_strides(shape):
        return f"View0(Permute0({name}))"
    if view_strides(shape, strides, merged) is not None:
        return f"ReshapeAlias0(Permute0({name}))"
    return f"UnsafeView0(Clone0(Permute0({name})))"


# ---- einsum --------------------------------------------------------------------------------------
# PyTorch gives every operand all labels as dimensions, those of the result first, sums what only one of two has, and
# multiplies them as batches of matrices.


class _Operand(NamedTuple):
    """An operand on its way: the text of its nodes, shape and strides."""

    text: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def permuted(self, order) -> _Operand:
        """Its dimensions in another order."""
        return _Operand(
            f"Permute0({self.text})", tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order)
        )

    def summed(self, dims) -> _Operand:
        """The sum over dimensions, which stay with size 1; what is computed is contiguous."""
        if not dims:
            return self
        shape = tuple(1 if d in dims else n for d, n in enumerate(self.shape))
        return _Operand(f"Sum1({self.text})", shape, contiguous_strides(shape))

    def reshaped(self, *sizes: int) -> str:
        """The text of its nodes and that of a reshape."""
        if is_dense(self.shape, self.strides, contiguous_strides(self.shape)):
            return f"View0({self.text})"
        if view_strides(self.shape, self.strides, sizes) is not None:
            return f"ReshapeAlias0({self.text})"
        return f"UnsafeView0(Clone0({self.text}))"


def einsum(a) -> str | None:
    """The nodes of an einsum; none are shown with an ellipsis, or of more than two operands."""
    equation, n = a.equation.replace(" ", ""), len(a.operands)
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if "." in equation or n > 2 or len(terms) != n:
        return "ViewBackward0" if n > 1 else None
    used = "".join(terms)
    if not arrow:
        output = "".join(sorted(x for x in set(used) if used.count(x) == 1))
    labels = output + "".join(sorted(set(used) - set(output)))
    given = [_aligned(x, term, labels, f"operands{i}") for i, (x, term) in enumerate(zip(a.operands, terms))]
    summed = range(len(output), len(labels))
    if n == 1:
        return f"Sum1({given[0].text})" if summed else given[0].text
    text = _product(*given, summed)
    return f"View0({text})" if summed else text


def _aligned(x: Tensor, term: str, labels: str, name: str) -> _Operand:
    """An operand with a dimension for each label, in their order."""
    shape, strides, _ = layout_of(x)
    found: dict[str, tuple[int, int]] = {}
    text = name
    for label, n, stride in zip(term, shape, strides):
        if label in found:  # a diagonal, at the place of the first of the two
            text, stride = f"Permute0(Diagonal0({text}))", stride + found[label][1]
        found[label] = n, stride
    kept = list(dict.fromkeys(term))
    missing = [label for label in labels if label not in found]
    for label in missing:
        text, found[label] = f"Unsqueeze0({text})", (1, 1)
    kept += missing
    whole = _Operand(text, *zip(*[found[label] for label in kept])) if kept else _Operand(text, (), ())
    return whole.permuted([kept.index(label) for label in labels])


def _product(x: _Operand, y: _Operand, summed) -> str:
    """What PyTorch calls a sumproduct_pair, or a product if nothing is summed of both."""
    both = [d for d in summed if x.shape[d] != 1 and y.shape[d] != 1]
    of_y = [d for d in summed if x.shape[d] == 1 and y.shape[d] != 1]
    x = x.summed([d for d in summed if d not in both and d not in of_y])
    y = y.summed(of_y)
    if not both:
        return f"Mul0({x.text}, {y.text})"
    rest = [d for d in range(len(x.shape)) if d not in both]
    batch = [d for d in rest if x.shape[d] != 1 and y.shape[d] != 1]
    left = [d for d in rest if x.shape[d] != 1 and y.shape[d] == 1]
    right = [d for d in rest if d not in batch and d not in left]
    if left and right and right[0] < left[0]:  # so that the result is contiguous
        x, y, left, right = y, x, right, left
    b, m, k = (math.prod(x.shape[d] for d in dims) for dims in (batch, left, both))
    n = math.prod(y.shape[d] for d in right)
    one = x.permuted([*batch, *left, *both, *right]).reshaped(b, m, k)
    two = y.permuted([*batch, *both, *right, *left]).reshaped(b, k, n)
    return f"Permute0(View0(Bmm0({one}, {two})))"
