"""Comparing a namespace with an independent one of the same names: values in every tier, gradients.

A case is an expression, `concatenate([x, x], 1)`, that is evaluated with the functions of both
namespaces on the same data. In front of it may stand marks:

    !   not inside of jit: the size of the result depends on the values
    ~   the gradient by each array of floats is compared with finite differences, too
"""

from __future__ import annotations

import re

import numpy as np

import functorch_core as fc


class Case:
    """An expression, its marks, and the names of the data in it."""

    def __init__(self, line: str, data: dict):
        self.marks = line[: len(line) - len(line.lstrip("!~"))]
        self.text = line.lstrip("!~").strip()
        words = set(re.findall(r"(?<![.\w])[A-Za-z_]\w*(?!\s*=[^=])", self.text))
        self.names = sorted(words & data.keys())
        self.data = data

    def of(self, module, arrays) -> object:
        """The value by the functions of a module."""
        names = {k: v for k, v in vars(module).items() if not k.startswith("__")}
        lookup = _Names(module, {**names, **dict(zip(self.names, arrays))})
        return eval(self.text, {"__builtins__": {"slice": slice, "dict": dict, "M": module}}, lookup)

    def arrays(self, make) -> list:
        return [make(self.data[n]) for n in self.names]


class _Names(dict):
    """Names of a module, also those that it makes when it is asked."""

    def __init__(self, module, names):
        super().__init__(names)
        self.module = module

    def __missing__(self, key):
        try:
            return getattr(self.module, key)
        except AttributeError:
            raise KeyError(key) from None


def leaves(out) -> list:
    """The arrays of a result, in order."""
    return [x for y in out for x in leaves(y)] if isinstance(out, (tuple, list)) else [np.asarray(out)]


def close(found, wanted, tolerance: float):
    """The same arrays: shapes, and values up to a tolerance."""
    found, wanted = leaves(found), leaves(wanted)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert a.shape == b.shape, (a.shape, b.shape)
        if b.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, tolerance, tolerance)
        else:
            np.testing.assert_array_equal(a, b)


def check_values(case: Case, ours, theirs, tolerance: float = 1e-10):
    """At once, by NumPy alone, and compiled as one function."""
    wanted = case.of(theirs, case.arrays(np.array))
    close(case.of(ours, case.arrays(fc.asarray)), wanted, tolerance)
    with fc.engine.forced_tier("reference"):
        close(case.of(ours, case.arrays(fc.asarray)), wanted, tolerance)
    if "!" not in case.marks:
        close(fc.jit(lambda *arrays: case.of(ours, arrays))(*case.arrays(fc.asarray)), wanted, tolerance)


def check_gradient(case: Case, ours, theirs, eps: float = 1e-6, tolerance: float = 2e-6):
    """grad of a sum of sines of all results, against finite differences of the other namespace."""
    floats = [i for i, n in enumerate(case.names) if np.asarray(case.data[n]).dtype == np.float64]
    assert floats, "there is nothing to differentiate by"

    def loss(*arrays):
        out = [case.of(ours, arrays)]
        return sum(fc.sin(leaf).sum() for leaf in fc.tree.leaves(out) if leaf.dtype == fc.float64)

    found = fc.grad(loss, argnums=tuple(floats))(*case.arrays(fc.asarray))
    for i, gradient in zip(floats, found):
        wanted = _differences(case, theirs, i, eps)
        np.testing.assert_allclose(gradient, wanted, tolerance, tolerance)


def _differences(case: Case, theirs, place: int, eps: float) -> np.ndarray:
    arrays = case.arrays(lambda x: np.array(x, copy=True))
    out = np.zeros_like(arrays[place])

    def loss():
        return sum(np.sin(x).sum() for x in leaves(case.of(theirs, arrays)) if x.dtype == np.float64)

    for index in np.ndindex(out.shape):
        at = arrays[place][index]
        arrays[place][index] = at + eps
        up = loss()
        arrays[place][index] = at - eps
        down = loss()
        arrays[place][index] = at
        out[index] = (up - down) / (2 * eps)
    return out
