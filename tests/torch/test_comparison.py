"""torch.testing.assert_close and its pairs: the same verdicts and messages as PyTorch's."""

import importlib

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
comparison = importlib.import_module("functorch_core.torch.testing._comparison")
their_comparison = importlib.import_module("torch.testing._comparison")

CASES = {
    "arrays of NumPy against tensors": lambda t, c, close: close(np.ones(2), t.ones(2)),
    "a number against a tensor": lambda t, c, close: close(1.0, t.tensor(1.0)),
    "numbers of two types": lambda t, c, close: close(1, 1.0),
    "types are not checked": lambda t, c, close: close(1, 3.0, check_dtype=False),
    "booleans": lambda t, c, close: close(True, False),
    "None": lambda t, c, close: close(None, 1),
    "two None": lambda t, c, close: close(None, None),
    "a number of NumPy": lambda t, c, close: close(np.float32(1), 2.0),
    "texts": lambda t, c, close: close("a", "a"),
    "an object": lambda t, c, close: close(object, 1),
    "sequences of two types": lambda t, c, close: close([1, 2], (1, 3)),
    "lengths": lambda t, c, close: close([1, 2], [1]),
    "mappings": lambda t, c, close: close({"a": 1}, {"a": 2}),
    "keys": lambda t, c, close: close({"a": 1, "c": 2}, {"b": 2}),
    "inputs before values": lambda t, c, close: close([1, "a"], [2, "a"]),
    "a message": lambda t, c, close: close([[1, 2]], [[1, 3]], msg="no"),
    "a function of the message": lambda t, c, close: close([[1, 2]], [[1, 3]], msg=lambda m: "X" + m),
    "one tolerance": lambda t, c, close: close(t.ones(2), t.ones(2), rtol=1),
    "layouts": lambda t, c, close: close(t.ones(2).to_sparse(), t.ones(2)),
    "layouts are not checked": lambda t, c, close: close(t.ones(2).to_sparse(), t.ones(2), check_layout=False),
    "sparse values": lambda t, c, close: close(t.ones(2).to_sparse(), 2 * t.ones(2).to_sparse()),
    "sparse indices": lambda t, c, close: close(t.tensor([1.0, 0]).to_sparse(), t.tensor([0, 1.0]).to_sparse()),
    "sparse counts": lambda t, c, close: close(t.tensor([1.0, 0]).to_sparse(), t.ones(2).to_sparse()),
    "shapes": lambda t, c, close: close(t.ones(2), t.ones(3)),
    "strides": lambda t, c, close: close(t.ones(2, 3), t.ones(3, 2).T, check_stride=True),
    "no data": lambda t, c, close: close(t.ones(2, device="meta"), t.ones(2, device="meta")),
    "dtypes are not checked": lambda t, c, close: close(t.ones(2), 2 * t.ones(2).double(), check_dtype=False),
    "bfloat16 against integers": lambda t, c, close: close(
        t.ones(2, dtype=t.bfloat16), 2 * t.ones(2).long(), check_dtype=False
    ),
    "tensors of booleans": lambda t, c, close: close(t.ones(2) > 0, t.ones(2) < 0),
    "NaN": lambda t, c, close: close(float("nan"), float("nan")),
    "equal NaN": lambda t, c, close: close(float("nan"), float("nan"), equal_nan=True),
    "infinity": lambda t, c, close: close(float("inf"), float("inf")),
    "infinity against a number": lambda t, c, close: close(1.0, float("inf")),
    "complex numbers": lambda t, c, close: close(1 + 1j, 1 + 2j),
    "errors of several items": lambda t, c, close: [
        str(e.to_error()) for e in c.not_close_error_metas([1, 2], [2, 3], pair_types=(c.NumberPair,))
    ],
    "objects": lambda t, c, close: [str(e.to_error()) for e in c.not_close_error_metas(1, 2)],
    "repr of tensors": lambda t, c, close: repr(c.TensorLikePair(t.ones(1), t.ones(1))),
    "repr of numbers": lambda t, c, close: repr(c.NumberPair(1, 2)),
    "tolerances": lambda t, c, close: c.get_tolerances(t.float16, t.float32, rtol=None, atol=None),
    "tolerances of a tensor": lambda t, c, close: c.default_tolerances(t.ones(1), t.int64),
}


def said(t, c, program) -> str:
    """What a program returns, or its error's type and text."""
    try:
        return str(program(t, c, t.testing.assert_close))
    except Exception as error:
        own = str(error).split("\n(while")[0].replace("functorch_core.torch.", "torch.")
        return f"{type(error).__name__}: {own}"


@pytest.mark.parametrize("name", CASES)
def test_says_the_same(name):
    assert said(torch, comparison, CASES[name]) == said(reference, their_comparison, CASES[name])


def test_a_pair_of_ones_own():
    """As PyTorch's test suite derives pairs for what it compares."""

    class Texts(comparison.Pair):
        def __init__(self, actual, expected, **options):
            self._check_inputs_isinstance(actual, expected, cls=str)
            super().__init__(actual, expected, **options)

        def compare(self):
            if self.actual.lower() != self.expected.lower():
                self._fail(AssertionError, "texts differ")

    kinds = {"pair_types": (Texts, comparison.NumberPair)}
    assert comparison.not_close_error_metas(["A", 1], ["a", 1], **kinds) == []
    (found,) = comparison.not_close_error_metas({"x": "A"}, {"x": "b"}, **kinds)
    assert str(found.to_error()) == "texts differ\n\nThe failure occurred for item ['x']"
