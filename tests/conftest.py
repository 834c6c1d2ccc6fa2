"""What holds for every test."""

from __future__ import annotations

import signal

import numpy as np
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a script: `pytest &`
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests interrupt themselves, and processes they start


@pytest.fixture(autouse=True)
def the_same_random_numbers(request):
    """A module's generator starts anew for each test: what it draws does not depend on the tests before."""
    for name in ("rng", "RNG"):
        generator = getattr(request.module, name, None)
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = np.random.default_rng(0).bit_generator.state
