"""Recordings of which an earlier process left the program on the disk."""

from __future__ import annotations

import ast

import pytest

from ..xla.programs import run_python

# After each of so many steps: how many programs have run, how many were compiled; then the sum.
STEPS = """
import sys
from functorch_core import engine, torch
from functorch_core.engine import on_disk
number, length, on_disk.LARGE = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
x, found = torch.linspace(-1, 1, 2000), []
for _ in range(number):
    y = x
    for _ in range(length):
        y = torch.tanh(y)
    total = y.abs().sum().item()
    found.append((engine.stats()["fused_runs"], engine.stats()["compiles"]))
print(found)
print(total)
"""


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def steps(
    cache, number: int, length: int = 41, large: float = 0.0, on: str = "1"
) -> tuple[list[tuple[int, int]], float]:
    """Those of a process of its own, with this disk cache."""
    arguments = str(number), str(length), str(large)
    said = run_python(STEPS, *arguments, FUNCTORCH_CACHE=on, FUNCTORCH_CACHE_DIR=str(cache), timeout=300)
    found, total = map(ast.literal_eval, said.splitlines())
    return found, total


def test_a_program_on_the_disk_is_taken_at_once(cache):
    first, total = steps(cache, 9)
    assert first[0] == first[1] == (0, 0) and first[-1][0] > 0 and first[-1][1] == 1
    assert len(list(cache.glob("*.noted"))) == 1
    again, by_program = steps(cache, 3)
    assert again == [(1, 0), (2, 0), (3, 0)]
    assert by_program == pytest.approx(total, rel=1e-5)
    assert steps(cache, 2, length=42)[0] == [(0, 0), (0, 0)]  # another recording


def test_a_note_without_its_program_costs_a_compilation(cache):
    steps(cache, 9)
    for entry in cache.glob("*.xla"):
        entry.unlink()
    assert steps(cache, 2)[0] == [(1, 1), (2, 1)]


def test_small_recordings_leave_no_notes(cache):
    assert steps(cache, 9, large=3e5)[0][-1][0] > 0
    assert not list(cache.glob("*.noted")) and list(cache.glob("*.xla"))


def test_without_a_cache_nothing_is_noted(cache):
    assert steps(cache, 9, on="0")[0][-1][0] > 0
    assert steps(cache, 2, on="0")[0] == [(0, 0), (0, 0)]
    assert not cache.exists()
