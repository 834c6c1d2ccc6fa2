"""One program run with PyTorch and with this library, and their results compared."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from functorch_core import torch as ours

from ..tracker import without_tracker

reference = pytest.importorskip("torch")


def agree(program, rtol: float = 2e-4, atol: float = 2e-5):
    """program(torch) gives the same with both: tensors, numbers, texts, errors, in any nesting."""
    expected, found = (_run(program, torch) for torch in (reference, ours))
    _compare(expected, found, rtol, atol, "result")


def _run(program, torch):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(program(torch))


def failing(call, *args, **kwargs):
    """The type and text of the error that a call raises."""
    try:
        call(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)
    return "no error"


def warned(call, *args, **kwargs):
    """The texts of the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    return [(w.category.__name__, str(w.message)) for w in caught]


def plain(x):
    """A result without the library's types."""
    if hasattr(x, "detach"):
        return np.array(x.detach().numpy(), copy=True)
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if hasattr(x, "items") and not isinstance(x, type):
        return {k: plain(v) for k, v in x.items()}
    return x if x is None or isinstance(x, (bool, int, float, str)) else repr(x)


def _compare(expected, found, rtol, atol, path: str):
    if isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray) and expected.dtype == found.dtype, path
        np.testing.assert_allclose(found, expected, rtol, atol, err_msg=path)
    elif isinstance(expected, dict):
        assert list(expected) == list(found), path
        for key in expected:
            _compare(expected[key], found[key], rtol, atol, f"{path}[{key!r}]")
    elif isinstance(expected, list):
        assert isinstance(found, list), path
        assert len(expected) == len(found), f"{path}: {expected} {found}"
        for i, pair in enumerate(zip(expected, found)):
            _compare(*pair, rtol, atol, f"{path}[{i}]")
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol, atol, err_msg=path)
    else:
        assert (without_tracker(expected) if isinstance(expected, str) else expected) == found, path
