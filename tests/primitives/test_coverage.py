"""Every primitive x rule x dtype class goes through the checker; one without a case fails."""
from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from functorch_core.core.graph import subgraphs
from functorch_core.core.primitive import registry
from tests.primitives.cases import CASES, CLASSES, ELSEWHERE
from tests.primitives.check import check, check_lowering, graph_of

TESTS = Path(__file__).resolve().parent.parent
REFUSED = [(name, dtype) for name, case in CASES.items() for dtype in CLASSES
           if dtype not in case.dtypes]
# One dtype of a class whose derivatives finite differences can check, else any that is taken.
BEST = ("float64", "complex128", "float32", "complex64", "int32", "uint32", "uint64", "bool")


def ids(pairs):
    return [f"{name}-{dtype}" for name, dtype in pairs]


def names_in(graph) -> set[str]:
    """The primitives of a graph and of the graphs in it."""
    return {n.primitive.name for n in graph.nodes}.union(
        *(names_in(g) for n in graph.nodes for g in subgraphs(n)))


def best(case):
    """The widest dtype the case takes."""
    return next(np.dtype(name) for name in BEST if np.dtype(name) in case.dtypes)


def test_every_primitive_has_a_case():
    own = {name for name, primitive in registry.items() if not name.startswith("planted")}
    assert own == CASES.keys() | ELSEWHERE.keys()
    for name, (path, word) in ELSEWHERE.items():
        assert word in (TESTS / path).read_text(encoding="utf-8"), f"{name}: no {word} in {path}"


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_of_the_primitive(name):
    case = CASES[name]
    assert name in names_in(graph_of(case.fun, case.arrays(best(case))))


@pytest.mark.parametrize("name", CASES)
def test_every_rule(name):
    """Reference, lowering, jvp, transpose and batch of each, at its widest dtype."""
    case = CASES[name]
    check(case.fun, *case.arrays(best(case)), rules=case.rules, diff=case.diff,
          order=1, fd_tol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_every_dtype_class(name):
    """The lowering against the reference at every class of dtypes, all in one program."""
    case = CASES[name]
    operands = [case.arrays(dtype) for dtype in CLASSES if dtype in case.dtypes]
    counts = [len(arrays) for arrays in operands]

    def every(*values):
        values, outs = iter(values), []
        for n in counts:
            out = case.fun(*itertools.islice(values, n))
            outs += out if isinstance(out, (list, tuple)) else [out]
        return outs
    arrays = [a for some in operands for a in some]
    check_lowering(graph_of(every, arrays), arrays)


@pytest.mark.parametrize("name, dtype", REFUSED, ids=ids(REFUSED))
def test_other_dtypes_are_refused(name, dtype):
    case = CASES[name]
    with pytest.raises((TypeError, ValueError)):
        graph_of(case.fun, case.arrays(dtype))
