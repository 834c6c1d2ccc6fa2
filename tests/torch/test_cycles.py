"""torch.utils.viz._cycles against PyTorch's: what keeps tensors, as graphs."""

from __future__ import annotations

import gc
import importlib
import weakref

import pytest

from .agree import ours, reference


class Keeper:
    """Refers to itself, and to a tensor."""

    def __init__(self, lib):
        self.me, self.listed, self.tensor = self, [1, self], lib.ones(2)
        self.made = lambda: self


def cycles(lib):
    """The module under test, whose modules have two names."""
    return importlib.import_module(f"{lib.__name__}.utils.viz._cycles")


def graph(lib) -> list:
    """The graph of what leads to the tensor of a Keeper."""
    kept = Keeper(lib)
    closure = kept.made.__closure__
    objects = [kept, vars(kept), kept.listed, kept.tensor, kept.made, closure, closure[0], [kept], {"far": kept}, [3]]
    context = lambda x: "here" if lib.is_tensor(x) else None  # noqa: E731
    return cycles(lib).create_graph(objects, context=context, filter=lib.is_tensor)


def test_graphs_are_pytorchs():
    found, expected = graph(ours), graph(reference)
    assert [tuple(node) for node in found] == [tuple(node) for node in expected] and len(found) == 9
    assert cycles(ours).to_dot(found) == cycles(reference).to_dot(expected)
    assert "Viz(" in cycles(ours).to_html(found)


@pytest.mark.parametrize(
    "obj",
    [1, "abc", [1, [2], "x"], (), {}, {1: 2}, print, gc, Keeper, Keeper.__init__, {1}, list(range(20)), [].append],
)
def test_labels_are_pytorchs(obj):
    assert cycles(ours).object_annotation(obj) == cycles(reference).object_annotation(obj)


def test_garbage_is_told_and_then_freed():
    found = []
    gc.collect()
    stop = cycles(ours).observe_garbage(lambda garbage: found.extend([type(x).__name__ for x in garbage]))
    try:
        kept = Keeper(ours)
        there = weakref.ref(kept)
        del kept
        gc.collect()
        assert "Keeper" in found and "Tensor" in found
        gc.collect()
        assert there() is None
    finally:
        stop()
    before = len(found)
    Keeper(ours)
    gc.collect()
    assert len(found) == before and not gc.garbage
