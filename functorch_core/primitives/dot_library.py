"""Products of bfloat16 arrays as oneDNN computes them (xla/onednn_matmul.py): what it is asked for.

oneDNN multiplies (a stack of) matrices whose rows and columns lie any distance apart. So transpositions of operands and
of the result are part of a product (`engine/products.py` finds them), as long as the dimensions that are rows lie one
after the other, and those that are columns. A product says by indices what is what, as einsum does: those that both
operands and the result have run over a stack, those that only operands have are summed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..core.aval import Aval, aval
from ..core.lowering import LowerContext, Operand
from ..core.primitive import Primitive, Reason
from ..core.types import Ints
from ..xla import onednn_matmul
from ..xla.onednn import strides_of
from ..xla.onednn_matmul import Product
from .dot import dot_general_p, free_dims, sum_dtype

RESULTS = {dt.bfloat16: (dt.bfloat16, dt.float32), dt.float32: (dt.float32,)}  # by the dtype of the operands
MOST_STACKED = 2  # dimensions of a stack that do not lie one after the other


class Indices(NamedTuple):
    """The indices of two operands' dimensions and of the result's."""

    x: Ints
    y: Ints
    out: Ints

    @classmethod
    def of_dot(cls, x: Aval, y: Aval, contract: tuple[Ints, ...], batch: tuple[Ints, ...]) -> Indices:
        """Those of a dot_general; x's are its dimensions."""
        of_y = dict(zip((*contract[1], *batch[1]), (*contract[0], *batch[0])))
        new = free_dims(y.ndim, contract[1], batch[1])
        of_y.update({d: x.ndim + i for i, d in enumerate(new)})
        out = (*batch[0], *free_dims(x.ndim, contract[0], batch[0]), *(of_y[d] for d in new))
        return cls(tuple(range(x.ndim)), tuple(of_y[d] for d in range(y.ndim)), out)


def _shape(x: Aval, y: Aval, *, indices: Indices, out_dtype: np.dtype) -> Aval:
    sizes = dict(zip((*indices.x, *indices.y), (*x.shape, *y.shape)))
    return aval(tuple(sizes[i] for i in indices.out), out_dtype)


def _reference(x: np.ndarray, y: np.ndarray, *, indices: Indices, out_dtype: np.dtype) -> np.ndarray:
    wide = sum_dtype(x.dtype, out_dtype)
    summed = np.einsum(x.astype(wide), indices.x, y.astype(wide), indices.y, indices.out, optimize=True)
    return summed.astype(out_dtype, copy=False)


def _lower(ctx: LowerContext, x: Operand, y: Operand, *, indices: Indices, out_dtype: np.dtype) -> Operand:
    """The product as a custom call."""
    found = described(x.aval, y.aval, indices, out_dtype)
    if found is None:
        raise NotImplementedError(f"oneDNN has no product of {x.aval} and {y.aval} by the indices {indices}")
    product, swapped = found
    operands, out = [y, x] if swapped else [x, y], _shape(x.aval, y.aval, indices=indices, out_dtype=out_dtype)
    text, (name,) = xla.custom_call_text(
        product.target(),
        operands,
        [o.aval for o in operands],
        [out],
        result=ctx.fresh(),
        operand_matrices=[False, False],
        result_matrices=[False],
    )
    ctx.lines.append(text + ctx.location)
    return Operand(name, out)


_COMPILED = Reason("it is what dot_general is compiled to, after all transforms")

library_dot_p = Primitive(
    "library_dot",
    traits=dot_general_p.traits,
    shape=_shape,
    reference=_reference,
    lower=Reason("oneDNN computes on CPUs"),
    lower_on={"cpu": _lower},
    jvp=_COMPILED,
    transpose=_COMPILED,
    batch=_COMPILED,
)


# ---- what oneDNN is asked for ---------------------------------------------------------------------------


def is_had(x: Aval, y: Aval, indices: Indices, out_dtype: np.dtype) -> bool:
    """Whether oneDNN computes this product fast."""
    found = described(x, y, indices, out_dtype)
    return found is not None and onednn_matmul.supports(found[0])


def described(x: Aval, y: Aval, indices: Indices, out_dtype: np.dtype) -> tuple[Product, bool] | None:
    """The product that oneDNN is asked for, and whether its first operand is y; None if it cannot be asked."""
    if x.dtype != y.dtype or out_dtype not in RESULTS.get(x.dtype, ()) or 0 in (*x.shape, *y.shape):
        return None
    sizes = dict(zip((*indices.x, *indices.y), (*x.shape, *y.shape)))
    of_x, of_y, of_out = (_strides(which, sizes) for which in indices)
    stack = _runs([i for i in indices.out if i in of_x and i in of_y], sizes, (of_x, of_y, of_out))
    rows = _runs([i for i in indices.out if i not in of_y], sizes, (of_x, of_out))
    columns = _runs([i for i in indices.out if i not in of_x], sizes, (of_y, of_out))
    inner = _runs([i for i in indices.x if i not in of_out], sizes, (of_x, of_y))
    if len(stack) > MOST_STACKED or max(map(len, (rows, columns, inner))) > 1:
        return None
    (m, (x_row, out_row)), (n, (y_column, out_column)), (k, (x_inner, y_inner)) = (
        runs[0] if runs else (1, (1, 1)) for runs in (rows, columns, inner)
    )
    stacks = [tuple(strides[i] for _, strides in stack) for i in range(3)]
    first, second = (*stacks[0], x_row, x_inner), (*stacks[1], y_inner, y_column)
    swapped = out_column > out_row  # rows of the result are to lie one after the other
    if swapped:
        m, n, out_row, out_column = n, m, out_column, out_row
        first, second = (*stacks[1], y_column, y_inner), (*stacks[0], x_inner, x_row)
    shape = (*(size for size, _ in stack), m, k, n)
    names = x.dtype.name, np.dtype(out_dtype).name
    return Product(*names, shape, first, second, (*stacks[2], out_row, out_column)), swapped


def _strides(indices: Ints, sizes: dict[int, int]) -> dict[int, int]:
    """Where an array with these indices, which lies in their order, has the next element by each."""
    shape = tuple(sizes[i] for i in indices)
    return dict(zip(indices, strides_of(shape, tuple(range(len(shape))))))


def _runs(indices: Sequence[int], sizes: dict[int, int], arrays: Sequence[dict[int, int]]) -> list[tuple[int, Ints]]:
    """Indices, those as one that lie one after the other in all arrays: sizes, and strides in each array."""
    runs: list[tuple[int, Ints]] = []
    for i in indices:
        size, strides = sizes[i], tuple(array[i] for array in arrays)
        if size == 1:
            continue
        if runs and all(outer == size * step for outer, step in zip(runs[-1][1], strides)):
            runs[-1] = runs[-1][0] * size, strides
        else:
            runs.append((size, strides))
    return runs
