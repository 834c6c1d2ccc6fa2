"""Operands of several dtypes: the result has PyTorch's dtype and value, or both refuse."""

import itertools

import pytest
import torch as real

from functorch_core import torch

FLOATS = "float16 bfloat16 float32 float64".split()
INTEGERS = "bool uint8 int32 int64".split()


def both(call):
    """What a call gives in both libraries: the dtype and the elements, or the class of the error."""
    for lib in (torch, real):
        try:
            result = call(lib)
            yield str(result.dtype), [abs(x) for x in result.flatten().tolist()]
        except Exception as error:
            yield type(error).__name__, []


def agree(call):
    (kind, ours), (expected, theirs) = both(call)
    assert kind == expected
    assert ours == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize("loss", ["huber_loss", "soft_margin_loss"])
def test_losses_have_the_dtype_of_the_input(loss):
    for x, y in itertools.product([*FLOATS, "int64", "complex64"], repeat=2):

        def call(lib, x=x, y=y):
            fun = getattr(lib.nn.functional, loss)
            return fun(lib.tensor([3, 4]).to(getattr(lib, x)), lib.tensor([1, 1]).to(getattr(lib, y)), reduction="none")

        agree(call)


@pytest.mark.parametrize("norm_type", [1, 2, 2.0, 3.0])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_power_means_of_integers(norm_type, ceil_mode):
    for dtype in [*INTEGERS, "float32"]:

        def call(lib, dtype=dtype):
            x = lib.tensor([[[1, 2, 3, 5], [2, 3, 4, 5], [3, 4, 5, 7]]]).to(getattr(lib, dtype))
            return lib.nn.functional.lp_pool2d(x, norm_type, 2, 2, ceil_mode)

        agree(call)


def test_ldexp_of_integers_keeps_the_dtype():
    for x, n in itertools.product([*FLOATS, *INTEGERS, "complex64"], INTEGERS):
        agree(lambda lib, x=x, n=n: lib.ldexp(lib.ones(2).to(getattr(lib, x)), lib.full((2,), 3).to(getattr(lib, n))))


@pytest.mark.parametrize(
    "x, n, dtype",
    [
        (2.0**-10, 17, "float16"),
        (2.0**-100, 130, "float32"),
        (2.0**-126, 252, "float32"),
        (0.0, 300, "float32"),
        (2.0**100, -200, "float32"),
        (2.0**-1000, 1100, "float64"),
    ],
)
def test_ldexp_by_powers_that_are_not_held(x, n, dtype):
    agree(lambda lib: lib.ldexp(lib.tensor([x], dtype=getattr(lib, dtype)), lib.tensor([n])))


def test_what_is_empty_is_not_shuffled():
    for shape in ((0, 1, 4, 4), (1, 0, 4, 4), (1, 1, 0, 4)):
        ours, theirs = (lib.nn.functional.pixel_unshuffle(lib.ones(shape), 2).shape for lib in (torch, real))
        assert tuple(ours) == tuple(theirs)


def test_pivots_of_one_matrix_stand_for_a_batch():
    given = [(lib.ones(3, 2, 2), lib.tensor([2, 2], dtype=lib.int32)) for lib in (torch, real)]
    ours, theirs = (lib.lu_unpack(*x)[0] for lib, x in zip((torch, real), given))
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.tolist() == [theirs[0].tolist()] * 3  # PyTorch reads beyond the pivots for the others


def test_incomplete_gamma_functions_take_no_integers():
    for name in ("gammainc", "gammaincc"):
        agree(lambda lib, name=name: getattr(lib.special, name)(lib.tensor([1]), lib.tensor([1])))
        agree(lambda lib, name=name: getattr(lib.special, name)(lib.tensor([1.0]), lib.tensor([1])))
