"""Derivatives where there is none: the subgradients that PyTorch has defined, first and second.

`kink_programs.txt` holds lines `= x = [...]; y = [...]`, which give points, and the expressions of
them that follow; `1: ` is before those of which only the first gradients are compared.
"""

from __future__ import annotations

import itertools
import math
import pathlib
import warnings

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")

LINES = (pathlib.Path(__file__).parent / "kink_programs.txt").read_text().splitlines()


def programs():
    """(points, expression), as the file lists them."""
    points = ""
    for line in LINES:
        if line.startswith("= "):
            points = line[2:]
        elif line:
            yield points, line


def leaves(library, points: str) -> dict:
    """The points as tensors that require grad, by their names."""
    space: dict = {}
    exec(points, {"inf": math.inf, "nan": math.nan}, space)
    return {name: library.from_numpy(np.array(x)).requires_grad_() for name, x in space.items()}


def weights(library, x):
    """Numbers unlike each other, of x's shape and dtype, to be a cotangent."""
    found = 1 + library.arange(x.numel(), dtype=library.float64) * 0.5
    return found.reshape(x.shape).to(x.dtype)


def gradients(library, values, xs) -> list | None:
    """Those of the values that require grad; None if none does."""
    outs = [v for v in values if v is not None and v.requires_grad]
    if not outs:
        return None
    return list(
        library.autograd.grad(outs, xs, [weights(library, v) for v in outs], create_graph=True, allow_unused=True)
    )


def derivatives(library, points: str, expression: str) -> tuple:
    """(values, gradients, second gradients) of an expression; None where there are none."""
    xs = leaves(library, points)
    space = {"torch": library, "F": library.nn.functional, "inf": math.inf, "nan": math.nan, **xs}
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = eval(expression, space)
        values = [found] if hasattr(found, "dtype") else list(found)
        first = gradients(library, values, list(xs.values()))
        try:
            second = None if first is None else gradients(library, first, list(xs.values()))
        except (NotImplementedError, RuntimeError):  # the reference has none
            second = None
    return values, first, second


def array(x):
    return None if x is None else np.array((x.detach() + 0).resolve_conj().numpy(force=True))


def assert_close(ours, theirs):
    for a, b in zip(map(array, ours), map(array, theirs), strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


GROUPS = {points: [e for _, e in group] for points, group in itertools.groupby(programs(), key=lambda pair: pair[0])}


@pytest.mark.parametrize("points", GROUPS)
def test_same_derivatives(points):
    for expression in GROUPS[points]:
        only_first = expression.startswith("1: ")
        expression = expression.removeprefix("1: ")
        values, first, second = derivatives(reference, points, expression)
        our_values, our_first, our_second = derivatives(torch, points, expression)
        try:
            assert_close(our_values, values)
            assert (our_first is None) == (first is None)
            if first is not None:
                assert_close(our_first, first)
            if second is not None and not only_first:  # nothing and zeros are alike: ours goes on where theirs ends
                assert_close(*zeros_for_none(our_second or [None] * len(second), second))
        except AssertionError as error:
            raise AssertionError(f"{expression} at {points}: {error}") from None


def zeros_for_none(ours: list, theirs: list) -> tuple[list, list]:
    pairs = [(a, b) for a, b in zip(ours, theirs) if a is not None or b is not None]
    return ([b * 0 if a is None else a for a, b in pairs], [a * 0 if b is None else b for a, b in pairs])
