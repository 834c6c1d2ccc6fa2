"""What holds for every test.

FUNCTORCH_TEST_DEVICE=cuda makes a GPU the default device of both faces: `pytest tests/primitives` then computes there.
"""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a script: `pytest &`
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests interrupt themselves, and processes they start


def pytest_configure():
    device = os.environ.get("FUNCTORCH_TEST_DEVICE")
    if device:
        from functorch_core import torch, xla

        xla.set_default_device(xla.device(device))
        torch.set_default_device(device)


@pytest.fixture(autouse=True)
def nothing_was_read_before():
    """What is computed at once, as its like was often read or is taken for a loop's, does not depend on the tests
    before."""
    yield
    if "functorch_core.engine.recorder" in sys.modules:
        recorder = sys.modules["functorch_core.engine.recorder"]
        recorder.alone.clear()
        recorder._state.in_loop = 0


@pytest.fixture(autouse=True)
def the_same_random_numbers(request):
    """A module's generator starts anew for each test: what it draws does not depend on the tests before."""
    for name in ("rng", "RNG"):
        generator = getattr(request.module, name, None)
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = np.random.default_rng(0).bit_generator.state
