"""torch.library.opcheck, the types of custom operators' arguments, and operators that write, against PyTorch's."""

import types
from collections.abc import Sequence
from typing import Optional

import pytest

from functorch_core import torch as ours

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def operators(torch):
    """Operators, of which some are not what is said of them."""
    made = types.SimpleNamespace()

    def op(name, function, mutates=(), fake=lambda x: x.new_empty(x.shape), backward=None):
        function.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
        found = torch.library.custom_op(f"opcheck_test::{name}", function, mutates_args=mutates)
        if fake is not None:
            found.register_fake(fake)
        if backward is not None:
            found.register_autograd(backward)
        setattr(made, name, found)

    def written(x):
        x.add_(1)
        return x.clone()

    op("good", lambda x: x.clone() * 2, backward=lambda ctx, g: g * 2)
    op("no_formula", lambda x: x * 2)
    op("no_gradient", lambda x: x * 2, backward=lambda ctx, g: None)
    op("no_fake", lambda x: x * 2, fake=None)
    op("wrong_shape", lambda x: x * 2, fake=lambda x: x.new_empty(3, 3))
    op("wrong_dtype", lambda x: x * 2, fake=lambda x: x.new_empty(x.shape, dtype=torch.float64))
    op("alias", lambda x: x)
    op("writes", written)
    op("says_it_writes", written, mutates={"x"})
    return made


OURS, THEIRS = operators(ours), operators(theirs)


def checked(torch, op, requires_grad: bool, **options):
    x = torch.ones(2, requires_grad=requires_grad)
    try:
        found = torch.library.opcheck(op, (x,), **options)
        return {name: value if isinstance(value, str) else type(value).__name__ for name, value in found.items()}
    except Exception as error:
        return type(error).__name__, str(error)[:30]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", [name for name in vars(OURS) if name != "wrong_shape"])
def test_opcheck(name, requires_grad):
    for options in ({"raise_exception": False}, {}, {"test_utils": "test_schema"}):
        if name in ("wrong_dtype", "writes") and requires_grad and not options.get("raise_exception", True):
            continue  # PyTorch's compiler raises for these, too; there is no such stage here
        mine = checked(ours, getattr(OURS, name), requires_grad, **options)
        wanted = checked(theirs, getattr(THEIRS, name), requires_grad, **options)
        assert mine == wanted, options


def test_opcheck_of_shapes_names_and_other_operators():
    with pytest.raises(Exception, match=r"Shapes torch.Size\(\[2\]\) and torch.Size\(\[3, 3\]\) are not equal"):
        ours.library.opcheck(OURS.wrong_shape, (ours.ones(2),))
    assert set(ours.library.opcheck(ours.ops.aten.sin.default, (ours.ones(2),)).values()) == {"SUCCESS"}
    assert set(ours.library.opcheck(ours.ops.opcheck_test.good, (ours.ones(2),)).values()) == {"SUCCESS"}
    with pytest.raises(ValueError, match="expected test_utils to be subset"):
        ours.library.opcheck(OURS.good, (ours.ones(2),), test_utils="test_nothing")


# ---- types of arguments --------------------------------------------------------------------------


def typed(torch):
    """An operator of all kinds of arguments, which tells what it was given."""
    seen = []

    def f(x, n, s, b, st, numbers, o=None, floats=None):
        seen.append(
            [type(a).__name__ if isinstance(a, torch.Tensor) else repr(a) for a in (x, n, s, b, st, numbers, o)]
        )
        seen[-1].append(repr(floats))
        return torch.zeros(())

    f.__annotations__ = {"x": torch.Tensor, "n": int, "s": float, "b": bool, "st": str, "numbers": list[int]}
    f.__annotations__ |= {"o": Optional[torch.Tensor], "floats": Optional[Sequence[float]], "return": torch.Tensor}  # noqa: UP045
    return torch.library.custom_op("opcheck_test::typed", f, mutates_args=()), seen


TYPED = {ours: typed(ours), theirs: typed(theirs)}
CALLS = [
    *((0, v) for v in ("1", "None", "[x]")),
    *((1, v) for v in ("2.5", "True", "torch.tensor(3)", "'a'")),
    *((2, v) for v in ("1", "'a'", "torch.tensor(2.)")),
    *((3, v) for v in ("1", "'a'")),
    *((4, v) for v in ("1",)),
    *((5, v) for v in ("3", "(1, 2)", "[1.5]", "'ab'", "None", "[]")),
    *((6, v) for v in ("3", "x", "None")),
    *((7, v) for v in ("[1, 2]", "['a']", "(1., 2)", "None", "3.")),
]


def given(torch, position, value):
    x = torch.ones(2)
    args = [x, 2, 3.0, True, "a", [1, 2], None, None]
    args[position] = eval(value, {"torch": torch, "x": x})
    op, seen = TYPED[torch]
    try:
        op(*args)
    except RuntimeError as error:
        return "".join(str(error).split("\n")[:2])
    return seen.pop()


@pytest.mark.parametrize(("position", "value"), CALLS)
def test_arguments_are_of_the_types_that_the_schema_says(position, value):
    assert given(ours, position, value) == given(theirs, position, value)


# ---- operators that write ------------------------------------------------------------------------


def writing(torch):
    def both(x, w):
        x.numpy()[:] += w.numpy()
        return torch.from_numpy(x.numpy() * 2)

    both.__annotations__ = {"x": torch.Tensor, "w": torch.Tensor, "return": torch.Tensor}
    return torch.library.custom_op("opcheck_test::both", both, mutates_args={"x"})


BOTH = {ours: writing(ours), theirs: writing(theirs)}


@pytest.mark.parametrize("of_x", [False, True])
@pytest.mark.parametrize("of_w", [False, True])
def test_results_of_an_operator_that_writes_have_no_gradient_and_say_so(of_x, of_w):
    found = []
    for torch, both in BOTH.items():
        x, w = torch.ones(2, requires_grad=of_x) * 1, torch.ones(2, requires_grad=of_w)
        result = both(x, w)
        found.append((result.requires_grad, x.tolist(), x._version, result.tolist()))
        if result.requires_grad:
            with pytest.raises(RuntimeError, match="Trying to backward through"):
                result.sum().backward()
    assert found[0] == found[1]


def test_what_an_operator_has_written_to_is_not_differentiated_as_before():
    for torch, both in BOTH.items():
        a = torch.ones(2, requires_grad=True)
        x = a * 1
        y = x * x  # keeps x
        both(x, torch.ones(2))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
