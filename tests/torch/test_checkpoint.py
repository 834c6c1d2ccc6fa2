"""torch.utils.checkpoint and torch.utils._pytree against PyTorch."""

import collections
import weakref

import pytest
import torch.utils._pytree as reference_pytree  # noqa: E402  (after agree has found torch)
from functorch_core.torch.utils.checkpoint import checkpoint

from functorch_core.torch.tensors import pytree

from .agree import agree, ours
from .test_autograd import data


def utils(torch):
    return torch.utils.checkpoint


def block(x, w):
    return (x @ w).tanh() * x.sum()


# ---- checkpoint ----------------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients(reentrant):
    def program(torch):
        x, w = data(torch, 2, 3), data(torch, 3, 3, seed=1)
        h = utils(torch).checkpoint(block, x, w, use_reentrant=reentrant)
        h = utils(torch).checkpoint(block, h, w, use_reentrant=reentrant)
        h.sum().backward()
        return h, x.grad, w.grad

    agree(program, rtol=1e-4, atol=1e-5)


def test_captured_parameters_and_keyword_arguments():
    def program(torch):
        x, w = data(torch, 2, 3), data(torch, 3, 3, seed=1)
        h = utils(torch).checkpoint(lambda x, *, scale: block(x, w) * scale, x, scale=2.0, use_reentrant=False)
        h.sum().backward()
        return x.grad, w.grad

    agree(program, rtol=1e-4, atol=1e-5)


def test_input_without_gradient():
    def program(torch):
        x, w = data(torch, 2, 3, grad=False), data(torch, 3, 3, seed=1)
        utils(torch).checkpoint(lambda x: block(x, w), x, use_reentrant=False).sum().backward()
        return w.grad

    agree(program, rtol=1e-4)


def test_nested():
    def program(torch):
        x, w = data(torch, 2, 3), data(torch, 3, 3, seed=1)
        c = utils(torch).checkpoint

        def outer(x):
            return c(block, c(block, x, w, use_reentrant=False), w, use_reentrant=False)

        c(outer, x, use_reentrant=False).sum().backward()
        return x.grad, w.grad

    agree(program, rtol=1e-4, atol=1e-5)


def test_double_backward():
    def program(torch):
        x, w = data(torch, 2, 3), data(torch, 3, 3, seed=1)
        h = utils(torch).checkpoint(block, x, w, use_reentrant=False)
        (g,) = torch.autograd.grad(h.sum(), x, create_graph=True)
        return g, torch.autograd.grad((g**2).sum(), (x, w))

    agree(program, rtol=1e-3, atol=1e-4)


def test_retain_graph():
    def program(torch):
        x, w = data(torch, 2, 3), data(torch, 3, 3, seed=1)
        h = utils(torch).checkpoint(block, x, w, use_reentrant=False).sum()
        h.backward(retain_graph=True)
        h.backward()
        return x.grad

    agree(program, rtol=1e-4)


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_same_random_numbers(reentrant):
    def program(torch):
        x = data(torch, 4, 5)
        h = utils(torch).checkpoint(torch.nn.functional.dropout, x, use_reentrant=reentrant)
        after = torch.rand(2)
        h.sum().backward()
        return h, x.grad, after, torch.rand(2)

    agree(program)


def test_structures():
    def program(torch):
        x = data(torch, 3)
        out = utils(torch).checkpoint(lambda d: {"a": d["x"].exp(), "b": [d["x"] * 2]}, {"x": x}, use_reentrant=False)
        (out["a"].sum() + out["b"][0].sum()).backward()
        return x.grad

    agree(program)


@pytest.mark.parametrize("reentrant", [False, True])
def test_sequential(reentrant):
    def program(torch):
        x = data(torch, 3)
        functions = [torch.sin, torch.exp, torch.tanh, lambda x: x * 2]
        y = utils(torch).checkpoint_sequential(functions, 2, x, use_reentrant=reentrant)
        y.sum().backward()
        return y, x.grad

    agree(program)


def test_reentrant_does_not_do_grad():
    def program(torch):
        x = data(torch, 3)
        torch.autograd.grad(utils(torch).checkpoint(torch.exp, x, use_reentrant=True).sum(), x)

    agree(program)


def test_a_function_that_changes():
    def program(torch):
        x, calls = data(torch, 3), []

        def f(x):
            calls.append(1)
            return x.exp().sin() if len(calls) == 1 else x.exp()

        utils(torch).checkpoint(f, x, use_reentrant=False).sum().backward()

    agree(program)


def test_contexts():
    def program(torch):
        import contextlib

        seen = []

        @contextlib.contextmanager
        def note(name):
            seen.append(name)
            yield

        x = data(torch, 3)
        y = utils(torch).checkpoint(
            torch.exp, x, use_reentrant=False, context_fn=lambda: (note("forward"), note("again"))
        )
        y.sum().backward()
        return seen, x.grad

    agree(program)


def test_nothing_is_kept():
    x = ours.ones(8, requires_grad=True)
    kept = []

    def f(x):
        h = x.exp()
        kept.append(weakref.ref(h._value))
        return h.sin().sum()

    y = checkpoint(f, x, use_reentrant=False)
    y.item()
    assert kept[0]() is None
    y.backward()
    assert len(kept) == 2 and x.grad is not None


# ---- trees ---------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")
TREES = [
    1,
    None,
    [1, (2, {"b": 3, "a": None})],
    Point(1, [2]),
    {},
    [],
    collections.OrderedDict(b=1, a=2),
    collections.defaultdict(list, k=[1]),
    collections.deque([1, 2], maxlen=3),
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_flatten(tree):
    leaves, spec = pytree.tree_flatten(tree)
    expected, expected_spec = reference_pytree.tree_flatten(tree)
    assert leaves == expected and spec.num_leaves == expected_spec.num_leaves
    rebuilt = pytree.tree_unflatten(leaves, spec)
    assert rebuilt == tree and type(rebuilt) is type(tree)
    assert pytree.tree_map(lambda x: (x, x), tree) == reference_pytree.tree_map(lambda x: (x, x), tree)


def test_map_of_several_trees():
    assert pytree.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)]) == [11, (22,)]
    with pytest.raises(ValueError):
        pytree.tree_map(lambda x, y: x + y, [1, (2,)], [10, [20]])


def test_registered_nodes():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda c, _: Pair(*c))
    doubled = pytree.tree_map(lambda x: x * 2, Pair(1, [2]))
    assert (doubled.a, doubled.b) == (2, [4])
    with pytest.raises(ValueError):
        pytree.register_pytree_node(Pair, None, None)


def test_paths():
    found = pytree.tree_leaves_with_path({"a": [1, Point(2, 3)]})
    assert [(pytree.keystr(path), leaf) for path, leaf in found] == [
        ("['a'][0]", 1),
        ("['a'][1].x", 2),
        ("['a'][1].y", 3),
    ]


def test_specs_compare_and_print():
    spec = pytree.tree_structure({"a": 1, "b": (2,)})
    assert spec == pytree.tree_structure({"b": (5,), "a": 0})
    assert spec != pytree.tree_structure({"a": 1, "b": [2]})
    assert repr(pytree.tree_structure((1, 2))) == repr(reference_pytree.tree_structure((1, 2)))
