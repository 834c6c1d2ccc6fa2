"""The channels-last pass: the same function by the NumPy rules, and no transposition between neighbours."""

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.graph import validate
from functorch_core.core.trace import evaluate, trace_closed
from functorch_core.engine.layout import channels_last
from functorch_core.transforms.transpose import vjp
from functorch_core.xla import onednn

IMAGE, KERNEL, SQUARE = (2, 3, 8, 6), (4, 3, 3, 3), (4, 4, 3, 3)
SAME = ((1, 1), (1, 1))


def relu(x):
    return p.max(x, p.zeros(x.aval))


def per_channel(b, like):
    return p.broadcast_in_dim(b, shape=like.shape, dims=(1,))


def two_layers(x, w, v, b):
    y = p.conv(x, w, padding=SAME)
    y = relu(p.add(y, per_channel(b, y)))
    return p.add(y, p.conv(y, v, padding=SAME))


def normalised(x, w, v, b):
    y = p.conv(x, w, strides=(2, 1))
    mean = p.mul(p.reduce_sum(y, axes=(0, 2, 3)), 1 / 24)
    return p.mul(p.sub(y, per_channel(mean, y)), per_channel(b, y))


def pooled(x, w, v, b):
    y = p.conv(x, w, padding=SAME)
    y = p.reduce_window_max(y, window=(1, 1, 2, 2), strides=(1, 1, 2, 2))
    return p.reduce_sum(p.reshape(y, shape=(2, 48)), axes=(1,))


def cut_and_joined(x, w, v, b):
    y = p.conv(x, w, padding=SAME)
    left = p.slice(y, start=(0, 0, 0, 1), limit=(2, 2, 8, 6), strides=(1, 1, 1, 2))
    right = p.reverse(p.slice(y, start=(0, 2, 0, 0), limit=(2, 4, 8, 3)), dims=(1, 3))
    both = p.concatenate(left, right, dimension=1)
    return p.pad(both, p.constant(np.float32(2)), low=(0, 0, 1, 0), high=(0, 1, 0, 0))


def transposed(x, w, v, b):
    y = p.transpose(p.conv(x, w, padding=SAME), permutation=(0, 2, 3, 1))
    return p.mul(y, p.broadcast_in_dim(b, shape=y.shape, dims=(3,)))


def one_by_one(x, w, v, b):
    small = p.slice(v, start=(0, 0, 0, 0), limit=(4, 4, 1, 1))
    return p.conv(p.conv(x, w, padding=SAME), small, strides=(2, 1))


@pytest.fixture(autouse=True, params=("XLA's convolutions", "oneDNN's"))
def library(request, monkeypatch):
    """Who computes convolutions; True for oneDNN."""
    if request.param == "oneDNN's":
        if not onednn.is_available():
            pytest.skip("oneDNN is not installed")
        return True
    monkeypatch.setenv("FUNCTORCH_ONEDNN", "0")
    return False


PROGRAMS = (two_layers, normalised, pooled, cut_and_joined, transposed, one_by_one)


def arguments():
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s).astype(np.float32) for s in (IMAGE, KERNEL, SQUARE, (4,))]


def graph_of(program):
    return trace_closed(lambda *xs: [program(*xs)], [aval(a.shape, a.dtype) for a in arguments()])


def assert_same(graph, args):
    moved = validate(channels_last(graph))
    for ours, plain in zip(evaluate(moved, args), evaluate(graph, args), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=2e-5, atol=2e-5)
    return moved


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    assert_same(graph_of(program), arguments())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(program):
    derived = vjp(graph_of(program), (True,) * 4)
    out, *residuals = evaluate(derived.forward, arguments())
    assert_same(derived.forward, arguments())
    assert_same(derived.backward, [*residuals, np.ones_like(out)])


def test_nothing_is_moved_between_neighbours(library):
    moved = channels_last(graph_of(two_layers))
    names = [n.primitive.name for n in moved.nodes]
    last, convs = (0, 3, 1, 2), [n.params["conv"] for n in moved.nodes if n.primitive.name == "conv"]
    # oneDNN takes the image as it comes; XLA has the kernels moved, too.
    assert [c.lhs for c in convs] == [(0, 1, 2, 3) if library else last, last] and {c.out for c in convs} == {last}
    assert names.count("transpose") == (1 if library else 4)
    assert names[-1] == "transpose"
    assert "optimization_barrier" not in names


def test_large_arrays_are_moved_between_barriers():
    shapes = ((4, 8, 96, 96), (8, 8, 3, 3))
    graph = trace_closed(lambda x, w: [p.sin(p.conv(x, w))], [aval(s, np.dtype("float32")) for s in shapes])
    names = [n.primitive.name for n in channels_last(graph).nodes]
    assert names[-3:] == ["optimization_barrier", "transpose", "optimization_barrier"]


def test_a_convolution_alone_moves_nothing(library):
    moved = channels_last(graph_of(lambda x, w, v, b: p.conv(x, w)))
    names = [n.primitive.name for n in moved.nodes]
    assert names == ["conv"] if library else names.count("transpose") == 3


def test_without_convolutions_nothing_changes():
    graph = trace_closed(lambda x: [p.sin(x)], [aval((2, 3), np.dtype("float32"))])
    assert channels_last(graph) is graph
