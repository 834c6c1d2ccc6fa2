"""out=: results, warnings and errors for what is given as `out`, against PyTorch.

`out_programs.txt` holds calls without `out`. Each is made with tensors of other dtypes and shapes,
with such as require grad or hold one element several times, and with what is no tensor.
"""

from __future__ import annotations

import pathlib
import warnings

import numpy as np
import pytest

from functorch_core import torch

from ..tracker import without_tracker

reference = pytest.importorskip("torch")

PROGRAMS = (pathlib.Path(__file__).parent / "out_programs.txt").read_text().splitlines()
DTYPES = "float32 float64 float16 int64 int32 bool complex64".split()
# What is said of what is no tensor differs with the number of overloads.
TYPES_ONLY = ("str", "array", "list")
# PyTorch says what is wrong inside of it, another op's name, or nothing.
OWN_WORDS = frozenset("ldexp heaviside count_nonzero argsort rand randn dist".split())


def space(library) -> dict:
    library.manual_seed(0)
    matrix = library.arange(9.0).reshape(3, 3)
    return {
        "torch": library,
        "x": library.tensor([1.0, -2.0, 3.0]),
        "m": matrix,
        "v": library.tensor([1.0, 2.0, 3.0]),
        "i": library.tensor([1, 2, 3]),
        "p": library.tensor([0.2, 0.3, 0.5]),
        "w": library.tensor([1.0, 2.0, 3.0]),
        "t0": library.tensor([0, 1, 2]),
        "b3": matrix.expand(3, 3, 3).clone(),
        "spd": matrix @ matrix.T + library.eye(3),
    }


def given(library, kind: str, like):
    """One `out`."""
    shape = tuple(like.shape)
    if kind in DTYPES:
        return library.zeros(shape, dtype=getattr(library, kind))
    if kind == "shape":
        return library.zeros((7,), dtype=like.dtype)
    if kind == "overlap":
        return library.zeros((), dtype=like.dtype).expand(shape or (1,))
    tensor = library.zeros(shape, dtype=like.dtype)
    return {"str": "a", "array": np.zeros(shape), "list": [tensor]}[kind]


def outcome(library, program: str, kind: str):
    """dtypes, shapes and the first warning; or the error."""
    names = space(library)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = eval(program, names)
        said.clear()
        outs = [given(library, kind, x) for x in ([found] if hasattr(found, "dtype") else found)]
        names["out"] = outs[0] if hasattr(found, "dtype") else tuple(outs)
        try:
            made = eval(f"{program[:-1]}, out=out)", names)
        except Exception as error:  # noqa: BLE001 (it is compared)
            return type(error).__name__, without_tracker(str(error)).split("\n")[0]
    made = [made] if hasattr(made, "dtype") else made
    return (
        [str(x.dtype) for x in made],
        [tuple(x.shape) for x in made],
        [str(w.message)[:60] for w in said][:1] if kind == "shape" else [],
    )


@pytest.mark.parametrize("kind", [*DTYPES, "shape", "overlap", *TYPES_ONLY])
def test_same_outcome(kind):
    for program in PROGRAMS:
        ours, theirs = (outcome(library, program, kind) for library in (torch, reference))
        name = program.split("(")[0].removeprefix("torch.")
        if kind in TYPES_ONLY or name in OWN_WORDS:
            ours, theirs = ours[0], theirs[0]
        assert ours == theirs, program


def test_no_history_through_out():
    for library in (torch, reference):
        x = library.ones(3, requires_grad=True)
        for call in (library.exp, library.sort):
            with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
                call(
                    x,
                    out=(library.empty(3), library.empty(3, dtype=library.int64))
                    if call is library.sort
                    else library.empty(3),
                )
        assert library.softmax(x, 0, out=library.empty(3)).requires_grad


@pytest.mark.parametrize(
    "call",
    [
        "torch.gather(x, 0, i, out=x)",
        "torch.cat([x, x], out=x)",
        "torch.cat([x[:1], x[1:]], out=x)",
        "torch.index_select(x, 0, i[0, :2], out=x)",
        "torch.take(x, i, out=x)",
        "torch.exp(x, out=x)",
        "torch.masked_select(x, x > 0, out=x)",
        "torch.add(x[:, :2], 1, out=x[:, 1:])",
        "torch.cat([x], out=torch.ones(2, 3))",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_out_among_the_operands(call):
    def result(library):
        space = {
            "torch": library,
            "x": library.arange(6.0).reshape(2, 3),
            "i": library.zeros(2, 3, dtype=library.int64),
        }
        try:
            return eval(call, space).tolist()
        except RuntimeError as error:
            return str(error)

    ours, theirs = result(torch), result(reference)
    assert ours == theirs if isinstance(theirs, str) else np.allclose(ours, theirs)
