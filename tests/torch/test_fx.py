"""torch.fx: graphs, their code and their text, as PyTorch's."""

import copy
import importlib
import math
import operator
import pickle
from typing import Optional

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


def modules(t):
    """Modules and functions that can be traced, with inputs."""
    nn, F = t.nn, t.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Dropout(0.5))
            self.scale = nn.Parameter(t.full((3,), 2.0))
            self.register_buffer("shift", t.ones(3))

        def forward(self, x, y: Optional[t.Tensor] = None, *, power: int = 2):
            h = self.layers(x) * self.scale + self.shift
            a, b = h.split([1, 2], dim=1)
            h = t.cat([a, b], dim=-1) ** power
            return {"h": h.reshape(h.shape[0], -1), "s": (h.sum(-1), -h[:, 0])}

    def functions(x, y=3):
        z = F.relu(x) + 1 - t.sin(x).mul(y) / 2
        z = F.linear(z, t.ones(2, 4)) @ t.ones(2, 2)
        z = t.nn.functional.dropout(z, 0.1, training=False).to(t.float64)
        z = z[..., None].squeeze(-1).float()
        unused = z.t()
        return F.softmax(z, dim=-1), z.size(0), (z > 0) & (z < 1), unused is None, 2**z, z.T

    def arguments(x, *args, **kwargs):
        return x.view(-1).sum() + t.full((2,), float("inf"), dtype=t.float32).clamp(max=1.0)

    def scalars(x: float):
        return math.sqrt(x) + abs(x)

    def inplace(x):
        y = x.clone()
        y += 1
        y.add_(2)
        return operator.iadd(y, x)

    return [
        (Net().eval(), 4),
        (functions, 4),
        (arguments, 4),
        (inplace, 4),
        (nn.Sequential(nn.Conv1d(1, 2, 3), nn.BatchNorm1d(2), nn.Flatten()), None),
    ]


@pytest.mark.parametrize("i", range(5))
def test_traces(i):
    texts = []
    for t in (torch, reference):
        fx = importlib.import_module(f"{t.__name__}.fx")
        module, width = modules(t)[i]
        traced = fx.symbolic_trace(module)
        traced.graph.lint()
        texts.append((str(traced.graph), traced.code, str(traced).partition("def ")[2]))
        if width is None:
            assert traced(t.ones(2, 1, 5)).shape == (2, 6)
        else:
            x = t.arange(8.0).reshape(2, 4) / 8
            expected, found = module(x), traced(x)
            assert repr(expected) == repr(found)
            assert repr(copy.deepcopy(traced)(x)) == repr(found)
            assert repr(fx.Interpreter(traced).run(x)) == repr(found) or i == 0
            if i in (1, 2, 3):
                assert repr(fx.Transformer(traced).transform()(x)) == repr(found)
    for ours, theirs in zip(*texts):
        assert ours == theirs


def test_annotations_are_written_as_pytorchs():
    codes = []
    for t in (torch, reference):

        def f(x: t.Tensor, y: int | None = None, z: Optional[list[t.Tensor | int]] = None) -> t.Tensor | None:
            return x

        traced = importlib.import_module(f"{t.__name__}.fx").symbolic_trace(f)
        assert traced(t.ones(2)).shape == (2,)
        codes.append(traced.code)
    assert codes[0] == codes[1]


@BOTH
def test_graphs_made_by_hand(t):
    fx = importlib.import_module(f"{t.__name__}.fx")
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x", t.Tensor), fx.proxy.GraphAppendingTracer(graph))
    w = fx.Proxy(graph.get_attr("w"), x.tracer)
    y = t.einsum("ij,j->i", x, w).relu() + x.shape[0]
    graph.output(y.node, t.Tensor)
    module = fx.GraphModule({"w": t.arange(2.0)}, graph, "Mine")
    assert module(t.ones(3, 2)).tolist() == [4, 4, 4] and type(module).__name__ == "Mine"
    assert module.code == (
        "\n\n\ndef forward(self, x : torch.Tensor) -> torch.Tensor:\n    w = self.w\n"
        "    einsum = torch.functional.einsum('ij,j->i', x, w);  w = None\n"
        "    relu = einsum.relu();  einsum = None\n    getattr_1 = x.shape;  x = None\n"
        "    getitem = getattr_1[0];  getattr_1 = None\n    add = relu + getitem;  relu = getitem = "
        "None\n    return add\n    "
    )
    assert module.forward.__annotations__ == {"x": t.Tensor, "return": t.Tensor}
    assert list(module.state_dict()) == ["w"] and isinstance(module, fx.GraphModule)
    with pytest.raises(RuntimeError, match="not provided in"):
        fx.GraphModule({}, graph)


@BOTH
def test_changing_graphs(t):
    fx = importlib.import_module(f"{t.__name__}.fx")
    traced = fx.symbolic_trace(lambda x: t.add(x, x) * 2)
    graph = traced.graph
    node = next(n for n in graph.nodes if n.target is t.add)
    with graph.inserting_after(node):
        new = graph.call_function(t.mul, node.args)
    node.replace_all_uses_with(new)
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(new)
    graph.erase_node(node)
    traced.recompile()
    assert traced(t.tensor(3.0)).item() == 18
    with graph.inserting_before(graph.output_node()):
        graph.call_method("relu", (new,))
    assert len(graph.nodes) == 5 and graph.eliminate_dead_code() and len(graph.nodes) == 4
    assert [n.op for n in reversed(graph.nodes)][0] == "output"
    assert graph.find_nodes(op="call_function", target=t.mul) == [new] and list(new.users)
    x = next(iter(graph.nodes))
    assert new.all_input_nodes == [x] and new.args == (x, x) and x.next is new and new.prev is x
    new.args = (x, 5)
    traced.recompile()
    assert traced(t.tensor(3.0)).item() == 30 and x.users == {new: None}
    again = fx.Graph()
    again.output(again.graph_copy(graph, {}))
    assert fx.GraphModule(t.nn.Module(), again)(t.tensor(3.0)).item() == 30
    new.args = (graph.output_node(), 5)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.lint()
    with pytest.raises((NotImplementedError, TypeError), match="does not support mutation"):
        fx.immutable_collections.immutable_list([1]).append(2)


@BOTH
def test_what_cannot_be_traced(t):
    fx = importlib.import_module(f"{t.__name__}.fx")
    for function, error in (
        (lambda x: x if x.sum() > 0 else -x, "control flow"),
        (lambda x: [y for y in x], "cannot be iterated"),
    ):
        with pytest.raises(fx.proxy.TraceError, match=error):
            fx.symbolic_trace(function)
    with pytest.raises(RuntimeError, match="'len' is not supported"):
        fx.symbolic_trace(lambda x: len(x))
    assert not fx._symbolic_trace.is_fx_tracing()
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        fx.wrap(3)


@BOTH
def test_tracers_of_users(t):
    fx = importlib.import_module(f"{t.__name__}.fx")

    class Block(t.nn.Module):
        def forward(self, x):
            return x if bool(x.sum() > 0) else -x

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, Block) or super().is_leaf_module(m, name)

    model = t.nn.Sequential(t.nn.Linear(2, 2), Block())
    graph = Leaves().trace(model)
    assert [n.target for n in graph.nodes] == ["input", "0", "1", "output"]
    module = fx.GraphModule(model, graph)
    assert module(t.ones(1, 2)).shape == (1, 2) and module.get_submodule("1") is model[1]


@BOTH
def test_transformers_and_interpreters(t):
    fx = importlib.import_module(f"{t.__name__}.fx")

    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(t.cos if target is t.sin else target, args, kwargs)

    class Count(fx.Interpreter):
        n = 0

        def run_node(self, n):
            self.n += 1
            return super().run_node(n)

    traced = fx.symbolic_trace(lambda x: t.sin(x) + 1)
    assert Swap(traced).transform()(t.zeros(())).item() == 2
    count = Count(traced)
    assert count.run(t.zeros(())).item() == 1 and count.n == 4
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(traced).run()


@BOTH
def test_pickles_of_graph_modules(t):
    fx = importlib.import_module(f"{t.__name__}.fx")
    model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Sequential(t.nn.ReLU()))
    traced = fx.symbolic_trace(model)
    loaded = pickle.loads(pickle.dumps(traced))
    x = t.ones(1, 2)
    assert t.equal(loaded(x), traced(x)) and loaded.code == traced.code
    assert list(loaded.state_dict()) == list(model.state_dict())


@BOTH
def test_replacing_patterns(t):
    fx = importlib.import_module(f"{t.__name__}.fx")
    traced = fx.symbolic_trace(lambda x, y: t.relu(x + y) * t.relu(y + x) + t.relu(x - y))
    matches = fx.replace_pattern(traced, lambda a, b: t.relu(a + b), lambda a, b: t.maximum(a, b))
    assert len(matches) == 2 and matches[0].anchor.name == "relu"
    assert traced(t.tensor(2.0), t.tensor(-3.0)).item() == 2 * 2 + 5
    assert [n.target for n in traced.graph.nodes].count(t.relu) == 1
    none = fx.replace_pattern(traced, lambda a: t.cos(a), lambda a: a)
    assert none == []


@BOTH
def test_shapes_of_a_graph(t):
    fx = importlib.import_module(f"{t.__name__}.fx")
    shape_prop = importlib.import_module(f"{t.__name__}.fx.passes.shape_prop")
    traced = fx.symbolic_trace(lambda x: t.sin(x).sum(1, keepdim=True) > 0)
    shape_prop.ShapeProp(traced).propagate(t.ones(2, 3))
    told = [n.meta["tensor_meta"] for n in traced.graph.nodes]
    assert [tuple(m.shape) for m in told] == [(2, 3), (2, 3), (2, 1), (2, 1), (2, 1)]
    assert told[-1].dtype is t.bool and told[0].stride == (3, 1)
    assert told[0].memory_format is t.contiguous_format and traced.graph.output_node()


def test_ops_do_not_ask_after_tracing():
    """Proxies override as long as they live: programs that trace are not slower afterwards."""
    from functorch_core.torch.dispatch import overrides as _overrides
    from functorch_core.torch.tensors.active import active

    if _overrides.for_good:
        pytest.skip("a class of another test overrides")
    torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    assert active.overrides is None
