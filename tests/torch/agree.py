"""The same program with PyTorch and with functorch_core.torch: results must agree."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

reference = pytest.importorskip("torch")

from functorch_core import torch as ours  # noqa: E402

from ..tracker import without_tracker  # noqa: E402

for _name in ("func", "autograd.functional", "autograd.forward_ad", "utils.checkpoint", "utils._pytree"):
    importlib.import_module(f"functorch_core.torch.{_name}")


def agree(program, *, rtol=1e-5, atol=1e-6, messages=False):
    """program(torch) returns the same with both libraries, or raises the same type of error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(program, reference)
    found = outcome(program, ours)
    if isinstance(expected, Exception) or isinstance(found, Exception):
        assert isinstance(expected, Exception) and isinstance(found, Exception), (expected, found)
        assert isinstance(found, family(expected)), (expected, found)
        if messages:
            assert str(found) == without_tracker(str(expected))
        return
    same(found, expected, rtol, atol)


def family(error: Exception) -> type:
    """The exception type that must be raised."""
    return next(t for t in type(error).__mro__ if t.__module__ == "builtins")


def outcome(program, torch):
    """What a program returns, or the exception it raises."""
    try:
        torch.manual_seed(0)
        return plain(program(torch))
    except Exception as error:  # noqa: BLE001 (it is compared)
        return error


def plain(x):
    """Tensors as arrays, in whatever they are nested."""
    if hasattr(x, "detach") and hasattr(x, "numpy"):
        return np.array(x.detach().numpy())
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (tuple, list)):
        return [plain(y) for y in x]
    if type(x).__module__.split(".")[0] in ("torch", "functorch_core"):
        return str(x)
    return x


def same(found, expected, rtol, atol):
    """Nested results agree."""
    if isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol, atol)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            same(found[key], expected[key], rtol, atol)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            same(f, e, rtol, atol)
    else:
        assert found == expected
