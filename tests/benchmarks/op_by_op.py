"""Ops of many numbers as they are computed before anything is compiled, by NumPy, against PyTorch: the worst first.

    python -m tests.benchmarks.op_by_op                     all (needs the `conformance` extra)
    python -m tests.benchmarks.op_by_op relu soft           those with `relu` or `soft` in their names
    python -m tests.benchmarks.op_by_op --numbers 16384     of so many numbers each, 262,144 by default

A call's result is read. Both libraries in one process, in turns; ratios are ours / PyTorch's.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

from .alternate import alternate, show

ROW = 256
NUMBER, ROUNDS = 5, 15

# name: f(library, its nn.functional, x, the same in rows, indices of rows)
OPS: dict[str, Callable] = {
    **{
        name: lambda t, F, x, rows, at, name=name: getattr(F, name)(x)
        for name in (
            "relu", "relu6", "leaky_relu", "elu", "selu", "silu", "gelu", "softplus", "mish", "hardswish",
            "hardsigmoid", "hardtanh", "logsigmoid", "softsign", "tanhshrink",
        )
    },
    **{
        name: lambda t, F, x, rows, at, name=name: getattr(t, name)(x)
        for name in (
            "abs", "sqrt", "exp", "expm1", "exp2", "log1p", "sin", "cos", "tanh", "sigmoid", "erf", "round", "floor",
            "sign", "isnan", "nan_to_num", "square", "reciprocal",
        )
    },
    **{
        name: lambda t, F, x, rows, at, name=name: getattr(t, name)(rows, 1)
        for name in (
            "sum", "mean", "var", "prod", "logsumexp", "softmax", "log_softmax", "argmax", "amax", "cumsum",
        )
    },
    "sort": lambda t, F, x, rows, at: rows.sort(1).values,
    "x + y": lambda t, F, x, rows, at: x + x,
    "x / 3": lambda t, F, x, rows, at: x / 3,
    "x ** 3": lambda t, F, x, rows, at: x**3,
    "x % 2": lambda t, F, x, rows, at: x % 2,
    "x > 0": lambda t, F, x, rows, at: x > 0,
    "clamp": lambda t, F, x, rows, at: x.clamp(-1, 1),
    "where": lambda t, F, x, rows, at: t.where(x > 0, x, -x),
    "masked_fill": lambda t, F, x, rows, at: x.masked_fill(x > 0, 0.0),
    "maximum": lambda t, F, x, rows, at: t.maximum(x, -x),
    "lerp": lambda t, F, x, rows, at: t.lerp(x, -x, 0.3),
    "addcmul": lambda t, F, x, rows, at: t.addcmul(x, x, x),
    "half": lambda t, F, x, rows, at: x.half(),
    "double": lambda t, F, x, rows, at: x.double(),
    "long": lambda t, F, x, rows, at: x.long(),
    "rows[at]": lambda t, F, x, rows, at: rows[at],
    "sum of columns": lambda t, F, x, rows, at: rows.sum(0),
    "transposed copy": lambda t, F, x, rows, at: rows.t().contiguous(),
    "cat": lambda t, F, x, rows, at: t.cat([rows, rows], 1),
    "flip": lambda t, F, x, rows, at: rows.flip(1),
    "pad": lambda t, F, x, rows, at: F.pad(rows, (1, 1)),
    "triu": lambda t, F, x, rows, at: rows.triu(),
    "layer_norm": lambda t, F, x, rows, at: F.layer_norm(rows, (ROW,)),
    "batch_norm": lambda t, F, x, rows, at: F.batch_norm(rows, None, None, training=True),
    "normalize": lambda t, F, x, rows, at: F.normalize(rows),
    "mse_loss": lambda t, F, x, rows, at: F.mse_loss(x, -x),
    "smooth_l1_loss": lambda t, F, x, rows, at: F.smooth_l1_loss(x, -x),
    "binary_cross_entropy_with_logits": lambda t, F, x, rows, at: F.binary_cross_entropy_with_logits(x, x),
    "cross_entropy": lambda t, F, x, rows, at: F.cross_entropy(rows, at % ROW),
    "attention": lambda t, F, x, rows, at: F.scaled_dot_product_attention(*[rows.view(8, -1, 32)[:, :128]] * 3),
    "rows @ rows.T": lambda t, F, x, rows, at: rows[:256] @ rows[:256].t(),
}  # fmt: skip


def _call(library: Any, function: Callable, x: Any) -> Callable[[], float]:
    inputs = library.tensor(x)
    rows = inputs.view(-1, ROW)
    at = library.arange(len(rows)).flip(0)
    float(inputs[0]), int(at[0])  # they are computed

    def call() -> float:
        return float(function(library, library.nn.functional, inputs, rows, at).flatten()[0])

    return call


def main() -> None:
    """Print a line for each op, and the geometric mean."""
    import numpy as np
    import torch as theirs

    from functorch_core import engine
    from functorch_core import torch as ours

    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--numbers", type=int, default=1 << 18)
    given = parser.parse_args()
    x = np.random.default_rng(0).standard_normal(given.numbers).astype(np.float32)
    found = {}
    for name, function in OPS.items():
        if not given.names or any(part in name for part in given.names):
            mine, other = (_call(library, function, x) for library in (ours, theirs))
            with engine.forced_tier("reference"):
                found[name] = alternate(mine, other, number=NUMBER, rounds=ROUNDS)
    for name, row in sorted(found.items(), key=lambda item: -item[1]["ratio_min"]):
        show(name, row, "PyTorch")
    if found:
        mean = math.exp(sum(math.log(row["ratio_min"]) for row in found.values()) / len(found))
        print(f"geometric mean of {len(found)}: {mean:.2f}")


if __name__ == "__main__":
    main()
