"""The graph as users walk it, by grad_fn and next_functions: the names and edges of PyTorch's.

`graph_programs.txt` holds expressions of tensors that require grad (x1 has one dimension, x2 two;
img is a batch of images, w a weight) and of modules of torch.nn.
"""

import pathlib
import warnings

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")

PROGRAMS = (pathlib.Path(__file__).parent / "graph_programs.txt").read_text().splitlines()


def leaves(library) -> dict:
    library.manual_seed(0)
    shapes = {
        "x1": (4,),
        "x2": (3, 4),
        "x3": (3, 3, 4),
        "x4": (2, 2, 3, 4),
        "w": (5, 4),
        "b": (5,),
        "img": (2, 2, 5, 5),
        "k": (3, 2, 3, 3),
        "sq": (4, 4),
    }
    return {name: library.rand(*shape, requires_grad=True) for name, shape in shapes.items()}


def tree(node, names: dict) -> str:
    """Node(children), leaves by name, `#i` for further outputs."""
    if node is None:
        return "-"
    if "AccumulateGrad" in node.name():
        return next((name for name, x in names.items() if x is node.variable), "leaf")
    children = [tree(child, names) + (f"#{i}" if i else "") for child, i in node.next_functions]
    return f"{node.name()}({', '.join(children)})"


def walked(library, program: str) -> str:
    names = leaves(library)
    space = {
        **names,
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
        "t": library.tensor([0, 1, 2]),
        "s1": library.ones(4),
        "s2": library.ones(3, 4),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tree(eval(program, space).grad_fn, names)


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_tree(program):
    assert walked(torch, program) == walked(reference, program)


def test_nodes_that_are_only_shown():
    x, weight = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    node = torch.nn.functional.linear(x, weight).grad_fn
    shown = node.next_functions[1][0]
    assert shown is node.next_functions[1][0]
    assert type(shown) is type(weight.t().grad_fn)
    shown.metadata["note"] = 1
    assert node.next_functions[1][0].metadata == {"note": 1}
    with pytest.raises(NotImplementedError, match="TBackward0 cannot have hooks"):
        shown.register_hook(print)
    with pytest.raises(NotImplementedError, match="MmBackward0 cannot be called"):
        node(torch.ones(2, 4))


@pytest.mark.parametrize("library", [torch, reference], ids=["ours", "theirs"])
def test_nodes_are_functions(library):
    x = library.ones(3, requires_grad=True)
    y = (x * 2).max(0).values
    assert y.grad_fn(library.tensor(1.0)).tolist() == [1, 0, 0]
    times = y.grad_fn.next_functions[0][0]
    grad, none = times(library.ones(3))
    assert grad.tolist() == [2, 2, 2] and none is None
    assert times.next_functions[0][0](library.ones(3)) == ()
    assert x.grad.tolist() == [1, 1, 1]


SEVERAL = [
    "x.split(1)",
    "x.split([1, 2])",
    "x.chunk(2)",
    "x.unbind()",
    "list(x)",
    "x.split(3)",
    "x.split_with_sizes([1, 2])",
    "x.unsafe_split(1)",
    "x.unsafe_chunk(2)",
    "x.unbind(1)",
    "x.T.split(1)",
    "x.hsplit(2)",
    "torch.tensor_split(x, 2)",
    "x.view(2, 3).chunk(3, 1)",
]


@pytest.mark.parametrize("program", SEVERAL)
def test_views_of_one_call_share_a_node(program):
    def facts(library):
        leaf = library.arange(6.0).requires_grad_()
        x = leaf.view(3, 2) * leaf.view(3, 2)
        views = eval(program, {"torch": library, "x": x})
        (first,) = library.autograd.grad(views[-1].sum() + (views[0] ** 2).sum(), leaf, create_graph=True)
        (second,) = library.autograd.grad(first.sum(), leaf)
        try:
            views[0].mul_(2)
            written = x.tolist()
        except RuntimeError as error:
            written = str(error)
        nodes = [(v.grad_fn.name(), v.output_nr) for v in views]
        return nodes, first.tolist(), second.tolist(), written, [v.stride() for v in views]

    assert facts(torch) == facts(reference)


def test_hooks_and_retained_gradients_of_views_of_one_node():
    def facts(library):
        leaf = library.arange(6.0).requires_grad_()
        seen = []
        a, b, c = (leaf * 1).split(2)
        b.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
        a.retain_grad()
        (a.sum() + (b * b).sum()).backward()
        return seen, a.grad.tolist(), leaf.grad.tolist(), c.grad_fn is a.grad_fn

    assert facts(torch) == facts(reference)
