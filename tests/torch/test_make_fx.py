"""torch.fx.experimental.proxy_tensor.make_fx: the graphs are PyTorch's."""

import copy
import importlib

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
# PyTorch deprecates its own LeafSpec, and what forward mode compiles.
pytestmark = pytest.mark.filterwarnings("ignore")


def plain(t):
    x = t.arange(12.0).reshape(3, 4)
    held, lin = t.linspace(-1, 1, 4), t.nn.Linear(4, 2)

    def loss(x):
        return x.sin().pow(2).sum()

    def several(a, b, *c):
        return a + b * c[0], {"k": a}

    return {
        "factories": (lambda x: t.ones(4) + t.arange(4) * t.full_like(x, 2.0) + t.randn(3, 4) + x.new_zeros(4), x),
        "chain": (lambda x: (x.sin(), x.cos())[1], x),
        "several": (several, x, x.clone(), x.clone()),
        "numbers": (lambda x, n, s: x * n, x, 2, "sum"),
        "constants": (lambda x: x + t.tensor([1.0, 2, 3, 4]) * held, x),
        "module": (lin, x),
        "parameters": (lambda x: lin(x).sum() + lin.bias[0], x),
        "in place": (lambda x: x.add_(1).mul(2), x.clone()),
        "parts": (lambda x: x.split(2, 1)[0] * x.max(0).values[:2], x),
        "views": (lambda x: x[1:, None, 0].t().expand(2, 3).reshape(-1), x.reshape(4, 3)),
        "dtypes": (lambda x: x.to(t.float64).sum(0, dtype=t.float32), x),
        "lists": (lambda x: t.cat([x, x.detach()]), x),
        "same": (lambda x, y: x - y, x, x),
        "an input": (lambda x: x, x),
        "nothing": (lambda x: None, x),
        "tree": (lambda d, y: {"r": d["a"] + d["b"][0] * y}, {"a": x, "b": [x.clone()]}, x.clone()),
        "grad": (t.func.grad(loss), x),
        "grad of grad": (t.func.grad(lambda x: t.func.grad(loss)(x).sum()), x),
        "vjp": (lambda x: t.func.vjp(t.sin, x)[1](x)[0], x),
        "tape": (lambda x: t.autograd.grad(loss(x * 2), x), x.clone().requires_grad_()),
        "classes": (lambda x: t.nn.functional.cross_entropy(x, held.argsort()[:3]), x),
    }


def writing(t):
    """Functions that write to views, by name."""

    def simple(x) -> t.Tensor:
        x.view(4, 2).add_(t.full((2,), 2.0))
        return x

    def parts(x):
        x = x.clone()
        x[:, 0].mul_(2)
        x.t()[1:].add_(1)
        return x, x[0]

    def chain(x):
        y = x * 2
        z = y.transpose(0, 1)[1]
        z.zero_()
        z.add_(3)
        return y + 1, z

    def two(x):
        a, b = x.view(-1), x.unsqueeze(0)
        a.mul_(3)
        c = b + 1
        b.relu_()
        return a, c

    def copied(x):
        y = x.new_zeros([8])
        y.view(4, 2).copy_(x)
        y[2:4].fill_(7)
        y.permute(0).neg_()
        return y

    def diagonal(x):
        y = x @ x.t()
        y.diagonal().add_(1)
        return y.sum()

    def split(x):
        a, b = x.split(2)
        return a + b

    return {f.__name__: f for f in (simple, parts, chain, two, copied, diagonal, split)}


def make_fx(t):
    return importlib.import_module(f"{t.__name__}.fx.experimental.proxy_tensor").make_fx


@pytest.mark.parametrize("name", plain(torch))
def test_graphs_are_those_of_pytorch(name):
    (f, *ours), (g, *theirs) = plain(torch)[name], plain(reference)[name]
    assert make_fx(torch)(f)(*ours).code == make_fx(reference)(g)(*theirs).code


@pytest.mark.parametrize("name", ["chain", "constants", "parts", "grad of grad", "vjp"])
def test_graphs_compute(name):
    f, x = plain(torch)[name]
    graph, other = make_fx(torch)(f)(x), torch.linspace(-2, 3, 12).reshape(3, 4)
    for run in (graph, copy.deepcopy(graph), torch.fx.Interpreter(graph).run):
        assert torch.allclose(run(other), f(other))


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", writing(torch))
def test_graphs_without_writes(name, remove):
    f, g = writing(torch)[name], writing(reference)[name]
    x = torch.arange(8.0).reshape(4, 2)
    graph = make_fx(torch)(torch.func.functionalize(f, remove=remove))(x.clone())
    theirs = make_fx(reference)(reference.func.functionalize(g, remove=remove))(reference.tensor(x.tolist()))
    assert graph.code == theirs.code
    a, b = x * 2 - 5, x * 2 - 5
    found, expected = graph(a), f(b)
    assert torch.equal(a, b)
    for u, v in zip(*[y if isinstance(y, tuple) else (y,) for y in (found, expected)]):
        assert torch.equal(u, v)


def test_writes_that_cannot_be_left_out_are_refused():
    def out(x):
        y = torch.empty(4)
        torch.add(x, x, out=y)
        return y

    def expanded(x):
        y = x.clone().as_strided((2,), (2,))
        return y.add_(1)

    for f, what in ((out, "out="), (expanded, "a write to the result")):
        with pytest.raises(NotImplementedError, match=f"functionalize below make_fx: .*{what}"):
            make_fx(torch)(torch.func.functionalize(f))(torch.ones(4))


def test_gradients_of_a_module():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    parameters = list(model.parameters())

    def step(x, y):
        return torch.autograd.grad(torch.nn.functional.mse_loss(model(x), y), parameters)

    graph = make_fx(torch)(step)(torch.randn(3, 4), torch.randn(3, 1))
    assert [*graph.parameters()] == parameters
    x, y = torch.randn(3, 4), torch.randn(3, 1)
    assert all(torch.allclose(a, b) for a, b in zip(graph(x, y), step(x, y)))


def test_trees():
    f, tree, y = plain(torch)["tree"]
    graph = make_fx(torch)(f)(tree, y)
    other = {"a": torch.ones(2), "b": [torch.full((2,), 3.0)]}
    for run in (graph, copy.deepcopy(graph), torch.fx.Interpreter(graph).run):
        assert run(other, torch.ones(2))["r"].tolist() == [4.0, 4.0]
    with pytest.raises(ValueError, match="structure"):
        graph({"a": torch.ones(2)}, torch.ones(2))


def test_decompositions_and_modes():
    def silu(x):
        return x * torch.sigmoid(x)

    x = torch.zeros(3)
    graph = make_fx(torch)(torch.nn.functional.silu, {torch.ops.aten.silu.default: silu})(x)
    assert [n.target for n in graph.graph.nodes][1:3] == [torch.ops.aten.sigmoid.default, torch.ops.aten.mul.Tensor]
    make_fx(torch)(lambda x: x.add_(1), tracing_mode="fake")(x)
    assert x.tolist() == [0.0] * 3


def test_another_tensor_of_the_same_numbers_is_a_constant():
    x = torch.ones(2)
    alias = x.detach()
    assert make_fx(torch)(lambda x: x - alias)(x)(torch.full((2,), 3.0)).tolist() == [2.0, 2.0]


def test_what_cannot_be_traced_is_refused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(torch)(lambda x: x * x.sum().item())(x)
    with pytest.raises(AssertionError, match="tracing_mode must be"):
        make_fx(torch)(torch.sin, tracing_mode="none")
    with pytest.raises(NotImplementedError, match="symbolic"):
        make_fx(torch)(torch.sin, tracing_mode="symbolic")
    before = torch.func.vjp(torch.sin, torch.ones(2))[1]
    with pytest.raises(NotImplementedError, match="computed before"):
        make_fx(torch)(before)(torch.ones(2))
    with pytest.raises(NotImplementedError, match="transforms"):
        make_fx(torch)(torch.func.vmap(torch.sin))(torch.ones(2))
