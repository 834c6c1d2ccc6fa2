"""Graphs and tracing: printing, validation, dead code, common subexpressions, leaks."""

from __future__ import annotations

import sys
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.dtypes import float32, promote
from functorch_core.core.errors import LeakError
from functorch_core.core.graph import Graph, Literal, Node, cse, dce, used_inputs, validate
from functorch_core.core.lowering import lower
from functorch_core.core.trace import Builder, evaluate, run, trace, trace_closed

VECTOR = aval((3,), float32)


def example() -> Graph:
    return trace_closed(lambda x, y: [p.mul(p.sin(x), y)], [VECTOR, VECTOR], "example")


def test_prints_readably():
    assert repr(example()) == (
        "example(a: float32[3], b: float32[3]):\n    c: float32[3] = sin a\n    d: float32[3] = mul c b\n    return d"
    )


def test_avals_are_interned():
    assert aval((2, 3), float32) is aval((2, 3), np.dtype("float32"))
    assert aval((2, 3), float32) is not aval((3, 2), float32)


def test_dead_code_goes_and_effects_stay():
    graph = trace_closed(lambda x: [p.sin(x), p.cos(x)], [VECTOR])
    assert [n.primitive.name for n in dce(graph, [True, False]).nodes] == ["sin"]
    assert used_inputs(dce(graph, [False, False])) == (False,)


def test_common_subexpressions_are_merged():
    graph = trace_closed(lambda x: [p.add(p.sin(x), p.sin(x))], [VECTOR])
    assert [n.primitive.name for n in cse(graph).nodes] == ["sin", "add"]
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(evaluate(cse(graph), [x])[0], evaluate(graph, [x])[0])


def test_equal_small_constants_are_one_and_minus_zero_is_not_zero():
    assert Literal(np.float32(1)) == Literal(np.float32(1))
    assert Literal(np.float32(0)) != Literal(np.float32(-0.0))
    assert Literal(np.float32(1)) != Literal(np.float64(1))


@pytest.mark.parametrize(
    "nodes, message",
    [
        ([Node(p.sin.primitive, (7,), (1,), {})], "before they are made"),
        ([Node(p.sin.primitive, (0,), (0,), {})], "exists already"),
    ],
)
def test_validation_names_the_node(nodes, message):
    with pytest.raises(ValueError, match=message):
        validate(Graph("bad", [0], nodes, [0], [VECTOR, VECTOR]))


def test_validation_checks_shape_rules():
    wrong = Graph("bad", [0], [Node(p.sin.primitive, (0,), (1,), {})], [1], [VECTOR, aval((4,), float32)])
    with pytest.raises(ValueError, match="its shape rule says"):
        validate(wrong)


def test_inner_traces_capture_values_of_outer_ones():
    def outer(x):
        graph, captures = trace(lambda y: [p.mul(x, y)], [VECTOR], "inner")
        assert len(graph.inputs) == 2 and captures == [x]
        return run(graph, [p.sin(x), *captures])

    graph = validate(trace_closed(outer, [VECTOR]))
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_allclose(evaluate(graph, [x])[0], x * np.sin(x), rtol=1e-6)


def test_a_leaked_value_is_named():
    kept = []
    trace_closed(lambda x: [kept.append(x) or x], [VECTOR], "leaky")
    with pytest.raises(LeakError, match="leaky"):
        p.sin(kept[0])
    with pytest.raises(LeakError, match="leaky"):
        trace_closed(lambda y: [p.add(y, kept[0])], [VECTOR])


def test_an_exception_while_tracing_leaves_no_trace_active():
    with pytest.raises(ZeroDivisionError):
        trace_closed(lambda x: [1 / 0], [VECTOR])
    assert np.asarray(p.add(np.float32(1), np.float32(2))) == 3


def test_traces_of_two_threads_do_not_meet():
    graphs = []

    def work():
        for _ in range(50):
            graphs.append(validate(example()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(graphs) == 200 and len({repr(g) for g in graphs}) == 1


def test_lines_of_the_user_are_in_the_program():
    assert "test_graph.py" in lower(example()).text


def test_a_large_constant_becomes_a_parameter():
    big = np.arange(5000, dtype=np.float32)
    lowered = lower(trace_closed(lambda x: [p.add(x, p.constant(big))], [aval((5000,), float32)]))
    assert len(lowered.inputs) == 2 and lowered.hoisted[0] is big


def test_the_picture_is_well_formed():
    root = ElementTree.fromstring(example()._repr_svg_())
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "sin float32[3]" in texts and "out 0: float32[3]" in texts


@pytest.mark.parametrize(
    "a, b, wanted",
    [
        ("int32", "float32", "float32"),
        ("int64", "float16", "float16"),
        ("bfloat16", "float16", "float32"),
        ("uint8", "int8", "int16"),
        ("uint64", "int64", "float32"),
        ("bool", "int8", "int8"),
        ("complex64", "float64", "complex128"),
        ("int64", "complex64", "complex64"),
    ],
)
def test_promotion(a, b, wanted):
    from functorch_core.core.dtypes import canonical

    for x, y in ((a, b), (b, a)):
        assert promote(canonical(x), canonical(y)) == canonical(wanted)


def line_of(call) -> int:
    return call.__code__.co_firstlineno


def test_a_node_knows_the_line_of_the_user_that_made_it():
    def inner(x):
        y = p.sin(x)
        return [p.cos(y)]

    graph = trace_closed(inner, [VECTOR])
    assert [n.source[1:] for n in graph.nodes] == [(line_of(inner) + 1, "inner"), (line_of(inner) + 2, "inner")]
    lines = []
    with Builder() as builder:  # entered by the user, whose lines differ
        x = builder.input(VECTOR)
        for make in (p.sin, p.cos):
            lines.append(sys._getframe().f_lineno + 1)
            x = make(x)
        lines.append(sys._getframe().f_lineno + 1)
        x = p.tanh(x)
    assert [n.source[1] for n in builder.nodes] == lines
