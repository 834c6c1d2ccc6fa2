"""Memory that tensors share with NumPy: programs under both libraries."""

from __future__ import annotations

import contextlib
import pathlib
import warnings

import numpy as np
import pytest

import functorch_core as fc

from .agree import ours, reference

TEXT = (pathlib.Path(__file__).parent / "memory_programs.txt").read_text()
PROGRAMS = dict(part.split("\n", 1) for part in TEXT.split("## ")[1:])


def plain(x):
    """What is compared of a value: of arrays and tensors the numbers."""
    if hasattr(x, "detach"):
        return ["tensor", str(x.dtype), list(x.shape), x.tolist()]
    if isinstance(x, np.ndarray):
        return ["array", str(x.dtype), x.tolist()]
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    return x.item() if isinstance(x, np.generic) else x if isinstance(x, (int, float)) else str(x)


@contextlib.contextmanager
def warned():
    """Context: the warnings in it, which are nobody else's business."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def outcome(text: str, torch) -> list:
    """What a program shows."""
    shown: list = []

    def fails(f):
        with pytest.raises(Exception) as error:
            f()
        shown.append([error.type.__name__, str(error.value).splitlines()[0]])

    names = {"torch": torch, "np": np, "fails": fails, "warned": warned, "__name__": "program"}
    names["show"] = lambda *values: shown.extend(map(plain, values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        exec(compile(text, "program", "exec"), names)
    return shown


def same(found, expected):
    """Whether what two programs show is equal, floats nearly."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return isinstance(found, float) and np.isclose(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    return found == expected


@pytest.mark.parametrize("title", PROGRAMS)
def test_programs(title):
    expected = outcome(PROGRAMS[title], reference)
    found = outcome(PROGRAMS[title], ours)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert same(one, other), (one, other)


@pytest.mark.parametrize("tier", ["reference", "per-op", "fused", "immediate"])
def test_tiers(tier):
    titles = list(PROGRAMS)[:: 4 if tier != "reference" else 1]
    for title in titles:
        expected = outcome(PROGRAMS[title], reference)
        with fc.engine.forced_tier(tier):
            found = outcome(PROGRAMS[title], ours)
        assert same(found, expected), (title, found, expected)


@pytest.mark.parametrize("title", list(PROGRAMS)[:40])
def test_at_once(title):
    expected = outcome(PROGRAMS[title], reference)
    with fc.engine.at_once("a test"):
        found = outcome(PROGRAMS[title], ours)
    assert same(found, expected), (found, expected)
