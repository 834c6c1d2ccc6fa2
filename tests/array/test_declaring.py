"""An operation is declared once, and is where it says, called as it says."""

from __future__ import annotations

import ast
import doctest
import inspect
from pathlib import Path

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.array import fourier, functions, linalg, random
from functorch_core.array.expose import placed
from functorch_core.core.errors import ConcretizationError
from functorch_core.ops import elementwise, places
from functorch_core.ops.op import op
from functorch_core.ops.places import declared, exposed

PACKAGE = Path(fc.__file__).parent
SPACES = {"fc": functions, "fc.fft": fourier, "fc.linalg": linalg, "fc.random": random}


# ---- wrong declarations --------------------------------------------------------------------------


def cube(x, /):
    return x


@pytest.mark.parametrize(
    "decorator, kind, words",
    [
        (op, TypeError, "cube has no place"),
        (exposed(), TypeError, "cube has no place"),
        (op("x + y as z"), ValueError, "is none of"),
        (op("fc.linear"), ValueError, "'fc.linear', which is none of fc, fc.fft"),
        (op("fc", "x ? y"), ValueError, "an operator"),
        (
            op("fc as abs"),
            ValueError,
            "two operations are declared as fc.abs, in functorch_core.ops.elementwise and in",
        ),
        (op("x + y"), ValueError, "two operations"),
        (op("fc", names="x y"), TypeError, r"cube\(x, /\) has 1 positional-only parameters, but names for x, y"),
    ],
)
def test_a_wrong_declaration_is_an_error_where_it_is_written(decorator, kind, words, monkeypatch):
    monkeypatch.setattr(places, "declared", dict(declared))
    with pytest.raises(kind, match=words):
        decorator(cube)


def test_a_part_of_others_needs_no_place():
    @op
    def _part(x, /):
        return x

    assert _part not in declared.values()


# ---- all that are declared -----------------------------------------------------------------------


def test_every_file_with_operations_is_imported():
    files = {path.stem for path in (PACKAGE / "ops").glob("*.py") if "@op" in path.read_text(encoding="utf-8")}
    assert files - {"op", "places", "indexing", "updating"} <= vars(fc.ops).keys()


@pytest.mark.parametrize("place", declared)
def test_an_operation_is_where_it_is_declared(place):
    space, _, name = place.rpartition(".")
    if space in SPACES:
        found = vars(eval(space))[name]
        assert found is vars(SPACES[space])[name]
        found = found.__wrapped__ if space == "fc.random" else found  # which take typed keys, too
        assert found is placed(space)[name]
    elif space:
        assert hasattr(fc.Array if space == "Array" else fc, name)
    else:
        assert hasattr(fc.Array, f"__{places.OPERATORS[place]}__")


@pytest.mark.parametrize("space", SPACES)
def test_static_tools_find_what_is_declared(space):
    """What a module imports for them alone, against what it has at run time."""
    module = SPACES[space]
    (block,) = [x for x in ast.parse(inspect.getsource(module)).body if isinstance(x, ast.If)]
    names = {"__package__": module.__package__, "__name__": module.__name__}
    exec(compile(ast.Module(block.body, []), module.__file__, "exec"), names)
    assert {x for x in names if not x.startswith("__")} == placed(space).keys()


DATA_DEPENDENT = {
    "nonzero",
    "argwhere",
    "flatnonzero",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
}
EXAMPLES = [
    pytest.param(operation, place.rpartition(".")[2], id=place)
    for place, operation in declared.items()
    if place.rpartition(".")[0] in ("fc", "fc.fft", "fc.linalg") and operation.__doc__
    if f"{place}(" in operation.__doc__
]


@pytest.mark.parametrize("operation, name", EXAMPLES)
def test_the_example_gives_the_same_inside_of_jit(operation, name):
    names: dict = {}
    for example in doctest.DocTestParser().get_examples(operation.__doc__):
        if f"{name}(" in example.source:
            break
        exec(example.source, names)
    call = compile(example.source.strip(), name, "eval")
    if name in DATA_DEPENDENT:
        with pytest.raises(ConcretizationError):
            fc.jit(lambda: eval(call, names))()
        return
    found, wanted = fc.jit(lambda: eval(call, names))(), eval(call, names)
    fc.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, wanted)


def test_the_table_of_examples_is_that_of_the_operations():
    spaces = [place for place in declared if place.rpartition(".")[0] in ("fc", "fc.fft", "fc.linalg")]
    assert len(EXAMPLES) > 0.95 * len(spaces)
    assert isinstance(elementwise.add, type(elementwise.clip))
