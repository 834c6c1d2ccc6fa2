"""Programs run in every tier: what they give agrees, and a tier repeats itself bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from hypothesis import HealthCheck, settings

from functorch_core import engine

TOLERANCE = 1e-3  # of programs of some 25 float32 operations


def random_programs(n: int):
    """A test of n random programs, the same ones each time."""
    return settings(max_examples=n, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def agree(found: list[np.ndarray], expected: list[np.ndarray], tier: str):
    """The arrays are equal within rounding."""
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, err_msg=tier)


def check_tiers(execute: Callable[[], list[np.ndarray]], tiers: Iterable[str]):
    """What the program gives in each of the tiers, twice, agrees with the reference tier."""
    with engine.forced_tier("reference"):
        expected = execute()
    for tier in tiers:
        with engine.forced_tier(tier):
            found, again = execute(), execute()
        agree(found, expected, tier)
        if tier == "auto":  # it changes a key's tier once, from cold to compiled
            agree(again, expected, tier)
        else:
            assert [a.tobytes() for a in found] == [a.tobytes() for a in again], tier


def check_repeated(execute: Callable[[], list[np.ndarray]], runs: int):
    """A program repeated until it is compiled gives the same values all along."""
    first = execute()
    for _ in range(runs - 1):
        agree(execute(), first, "auto")
