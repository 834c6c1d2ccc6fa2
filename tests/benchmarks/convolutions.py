"""Convolutions of twelve kinds and three sizes against PyTorch, each library in a process of its own, in turns.

    python -m tests.benchmarks.convolutions                 all 36 (needs the `conformance` extra)
    python -m tests.benchmarks.convolutions depthwise 1d    those with `depthwise` or `1d` in their names
    python -m tests.benchmarks.convolutions --rounds 5      more rounds: steadier minima

A call's result is read. Times are first quartiles of a round, of which the least counts; ratios are ours / PyTorch's.
"""

from __future__ import annotations

import argparse
import functools
import sys
from typing import Any

from .by_name import compare, library_of, quartile, serve

WARM_UP, SECONDS, MOST = 8, 0.2, 60

# name: (function, channels in, kernel's shape, dimensions, parameters)
KINDS: dict[str, tuple[str, int, tuple[int, ...], int, dict[str, Any]]] = {
    "3x3": ("conv2d", 64, (64, 64, 3, 3), 2, {"padding": 1}),
    "3x3 stride 2": ("conv2d", 64, (128, 64, 3, 3), 2, {"padding": 1, "stride": 2}),
    "1x1": ("conv2d", 64, (256, 64, 1, 1), 2, {}),
    "7x7 stride 2": ("conv2d", 3, (64, 3, 7, 7), 2, {"padding": 3, "stride": 2}),
    "depthwise 3x3": ("conv2d", 96, (96, 1, 3, 3), 2, {"padding": 1, "groups": 96}),
    "depthwise 3x3 stride 2": ("conv2d", 96, (96, 1, 3, 3), 2, {"padding": 1, "stride": 2, "groups": 96}),
    "depthwise 5x5": ("conv2d", 96, (96, 1, 5, 5), 2, {"padding": 2, "groups": 96}),
    "8 groups": ("conv2d", 64, (64, 8, 3, 3), 2, {"padding": 1, "groups": 8}),
    "dilated 3x3": ("conv2d", 64, (64, 64, 3, 3), 2, {"padding": 2, "dilation": 2}),
    "1d": ("conv1d", 64, (64, 64, 5), 1, {"padding": 2}),
    "3d": ("conv3d", 16, (16, 16, 3, 3, 3), 3, {"padding": 1}),
    "transposed 4x4 stride 2": ("conv_transpose2d", 64, (64, 32, 4, 4), 2, {"padding": 1, "stride": 2}),
}
# batch, and the width by the number of dimensions
SIZES = [(16, {1: 512, 2: 32, 3: 16}), (4, {1: 2048, 2: 56, 3: 20}), (64, {1: 128, 2: 14, 3: 8})]


def names() -> list[str]:
    """Of all convolutions, with their sizes."""
    return [f"{kind}, {batch} x {widths[KINDS[kind][3]]}" for kind in KINDS for batch, widths in SIZES]


def _times(torch: Any, name: str) -> list[float]:
    kind, _, size = name.rpartition(", ")
    batch, width = map(int, size.split(" x "))
    function, channels, shape, dims, params = KINDS[kind]
    x, w = torch.randn(batch, channels, *[width] * dims), torch.randn(*shape)
    x_taped, w_taped = x.clone().requires_grad_(), w.clone().requires_grad_()
    convolve = getattr(torch.nn.functional, function)

    def forward() -> float:
        with torch.no_grad():
            return convolve(x, w, **params).flatten()[0].item()

    def with_gradients() -> float:
        x_taped.grad = w_taped.grad = None
        out = convolve(x_taped, w_taped, **params)
        out.backward(torch.ones_like(out))
        return x_taped.grad.flatten()[0].item()

    return [quartile(call, WARM_UP, SECONDS, MOST) for call in (forward, with_gradients)]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    chosen = [name for name in names() if not given.kinds or any(kind in name for kind in given.kinds)]
    compare("tests.benchmarks.convolutions", chosen, given.rounds, 1.0)


if __name__ == "__main__":
    serve(functools.partial(_times, library_of(sys.argv[2]))) if sys.argv[1:2] == ["--work"] else main()
