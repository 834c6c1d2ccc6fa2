"""Algorithms written down as loops give what they give with PyTorch, in their first run and when they come again."""

from __future__ import annotations

import pytest
import torch as reference

from functorch_core import torch as ours
from tests.benchmarks.algorithms import ALGORITHMS


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_gives_what_it_gives_with_pytorch(name):
    expected = ALGORITHMS[name](reference)
    assert [ALGORITHMS[name](ours) for _ in range(3)] == pytest.approx([expected] * 3, rel=2e-3, abs=1e-5)
