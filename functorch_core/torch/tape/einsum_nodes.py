"""The nodes that PyTorch makes of an einsum of one or two operands; see `_node_chains`.

It gives every operand all labels as dimensions, those of the result first, sums what only one of two
has, and multiplies them as batches of matrices.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..tensors.base import Tensor


class Operand(NamedTuple):
    """An operand on its way: the text of its nodes, shape and strides."""

    text: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def permuted(self, order) -> Operand:
        """Its dimensions in another order."""
        return Operand(
            f"Permute0({self.text})", tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order)
        )

    def summed(self, dims) -> Operand:
        """The sum over dimensions, which stay with size 1; what is computed is contiguous."""
        if not dims:
            return self
        from ..views.cells import contiguous_strides

        shape = tuple(1 if d in dims else n for d, n in enumerate(self.shape))
        return Operand(f"Sum1({self.text})", shape, contiguous_strides(shape))

    def reshaped(self, *sizes: int) -> str:
        """The text of its nodes and that of a reshape."""
        from ..views.cells import contiguous_strides, is_dense, view_strides

        if is_dense(self.shape, self.strides, contiguous_strides(self.shape)):
            return f"View0({self.text})"
        if view_strides(self.shape, self.strides, sizes) is not None:
            return f"ReshapeAlias0({self.text})"
        return f"UnsafeView0(Clone0({self.text}))"


def einsum_chain(a) -> str | None:
    """The text for the call; None with an ellipsis, or of more than two operands."""
    equation, n = a.equation, len(a.operands)
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if "." in equation or n > 2 or len(terms) != n:
        return None
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


def _aligned(x: Tensor, term: str, labels: str, name: str) -> Operand:
    """An operand with a dimension for each label, in their order."""
    from ..views.cells import layout_of

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
    whole = Operand(text, *zip(*[found[label] for label in kept])) if kept else Operand(text, (), ())
    return whole.permuted([kept.index(label) for label in labels])


def _product(x: Operand, y: Operand, summed) -> str:
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
