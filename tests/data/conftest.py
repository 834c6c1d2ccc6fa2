from __future__ import annotations

import multiprocessing

import pytest


@pytest.fixture
def forked():
    """PyTorch's workers are forked, too: they start as Python's processes do, from 3.14 on with pickles of all."""
    multiprocessing.set_start_method("fork", force=True)
    yield
    multiprocessing.set_start_method(None, force=True)
