"""Both libraries validate in these tests: PyTorch's own test tools turn it off when imported."""

from __future__ import annotations

import pytest

from .test_values import BOTH


@pytest.fixture(autouse=True)
def validating():
    """As after import."""
    for t in BOTH:
        t.distributions.Distribution.set_default_validate_args(True)
