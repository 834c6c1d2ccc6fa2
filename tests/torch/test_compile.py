"""torch.compile: backends by name and as functions, fullgraph, compiled modules; with PyTorch's verdicts."""

import copy
import importlib
import io

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
# Importing PyTorch's tracer warns of its own deprecated names.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


@pytest.fixture(autouse=True, scope="module")
def dynamo():
    """PyTorch's tracer, imported without its warnings."""
    return importlib.import_module("torch._dynamo")


def branching(x):
    return x * 2 if x.sum() > 0 else x - 1


def graphs():
    """A backend that runs graphs as they are, and the shapes of the inputs it got last, for each."""
    seen = []

    def backend(gm, example_inputs):
        seen.append(tuple(example_inputs[-1].shape))
        return gm.forward

    return backend, seen


# ---- what is refused -----------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (dict(backend="nope"), "InvalidBackend", "Invalid backend: 'nope', see `torch._dynamo.list_backends()`"),
        (dict(mode="nope"), "RuntimeError", "Unrecognized mode=nope, should be one of: default, "),
        (dict(mode="default", options={}), "RuntimeError", "Either mode or options can be specified"),
    ],
)
def test_arguments(t, arguments, error, text):
    for compile in (lambda: t.compile(branching, **arguments), lambda: t.compile(**arguments)(branching)):
        with pytest.raises(RuntimeError) as caught:
            compile()
        assert type(caught.value).__name__ == error and str(caught.value).startswith(text)


@BOTH
def test_what_is_no_function(t):
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'> is provided"):
        t.compile(3)
    with pytest.raises(t._dynamo.exc.InvalidBackend):
        t._dynamo.optimize("nope")


@BOTH
def test_fullgraph_refuses_branches_on_values(t):
    x = t.ones(3)
    with pytest.raises(t._dynamo.exc.Unsupported, match="Data-dependent branching"):
        t.compile(branching, fullgraph=True, backend="eager")(x)
    with pytest.raises(t._dynamo.exc.Unsupported, match="non-integer tensor"):
        t.compile(lambda x: x.tolist(), fullgraph=True, backend="eager")(x)
    assert t.compile(lambda x: x + 1, fullgraph=True, backend="eager")(x).tolist() == [2, 2, 2]
    assert t.compile(branching, backend="eager")(x).tolist() == [2, 2, 2]


@BOTH
def test_watching_leaves_no_trace(t):
    net = t.nn.BatchNorm1d(2)
    compiled = t.compile(net, fullgraph=True, backend="eager")
    t.manual_seed(0)
    noise = t.rand(1)
    t.manual_seed(0)
    compiled(t.ones(3, 2))
    assert net.num_batches_tracked == 1 and t.rand(1) == noise


# ---- a function as the backend -------------------------------------------------------------------


@BOTH
def test_a_backend_gets_graphs(t):
    backend, seen = graphs()
    net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU())
    with t.no_grad():
        for weight in net.parameters():
            weight.fill_(0.5)
    compiled = t.compile(net, backend=backend, dynamic=False)
    for _ in range(2):
        assert compiled(t.ones(3, 2)).tolist() == [[1.5, 1.5]] * 3
    assert compiled(t.ones(4, 2)).tolist() == [[1.5, 1.5]] * 4
    assert seen == [(3, 2), (4, 2)]
    compiled(t.ones(3, 2)).sum().backward()
    assert net[0].weight.grad.tolist() == [[3, 3], [3, 3]]


@BOTH
def test_structures_go_through(t):
    backend, seen = graphs()

    @t.compile(backend=backend, dynamic=False)
    def function(x, y=2, *, names=("a", "b")):
        return {names[0]: t.sin(x) * y, names[1]: [x.T, None, y]}

    found = function(t.zeros(2, 1), names=("c", "d"))
    assert found["c"].tolist() == [[0], [0]] and found["d"][0].shape == (1, 2) and found["d"][1:] == [None, 2]
    assert function(t.zeros(2, 1), 3)["b"][2] == 3 and len(seen) == 2


@BOTH
def test_what_the_backend_returns_is_called(t):
    assert t.compile(lambda x: x + 1, backend=lambda gm, inputs: lambda x: (x * 0,))(t.ones(2)).tolist() == [0, 0]


@BOTH
def test_a_function_runs_once_for_its_state(t):
    backend, _ = graphs()
    net = t.nn.BatchNorm1d(2)
    t.compile(lambda x: net(x), backend=backend)(t.ones(3, 2))
    assert net.num_batches_tracked == 1


@BOTH
@pytest.mark.parametrize(
    "wrong, text",
    [(lambda gm, inputs: 1 / 0, "ZeroDivisionError"), (lambda gm, inputs: 3, "compiler_fn did not return callable")],
)
def test_a_backend_that_fails(t, wrong, text):
    with pytest.raises(t._dynamo.exc.BackendCompilerFailed, match=f"raised:\n.*{text}"):
        t.compile(lambda x: x + 1, backend=wrong)(t.ones(2))


def test_a_branch_is_taken_without_the_backend():
    """PyTorch gives the backend the parts before and behind the branch; here it is told that it gets nothing."""
    backend, seen = graphs()
    with pytest.warns(UserWarning, match="branching makes a Python boolean of a tensor, so that it runs without"):
        assert torch.compile(branching, backend=backend)(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Data-dependent branching"):
        torch.compile(branching, backend=backend, fullgraph=True)(torch.ones(2))
    assert seen == []


@BOTH
def test_registered_backends(t):
    backend, seen = graphs()
    t._dynamo.register_backend(backend, name=f"mine{id(t)}")
    assert f"mine{id(t)}" in t._dynamo.list_backends()
    assert {"inductor", "cudagraphs"} <= set(t._dynamo.list_backends())
    assert {"eager", "aot_eager"} <= set(t._dynamo.list_backends(None))
    assert t._dynamo.optimize(f"mine{id(t)}")(lambda x: x + 1)(t.ones(1)) == 2 and seen == [(1,)]


@BOTH
def test_counting_backends(t):
    testing = importlib.import_module(f"{t.__name__}._dynamo.testing")
    counter, keeper = testing.CompileCounter(), testing.EagerAndRecordGraphs()
    for backend in (counter, keeper):
        compiled = t.compile(lambda x: (x.sin() + 1).relu(), backend=backend, dynamic=False)
        for n in (2, 2, 3):
            compiled(t.ones(n))
    assert (counter.frame_count, counter.op_count) == (2, 6) and len(keeper.graphs) == 2
    counter.clear()
    assert counter.frame_count == 0


# ---- compiled modules ----------------------------------------------------------------------------


@BOTH
def test_a_compiled_module(t):
    net = t.nn.Linear(2, 3)
    compiled = t.compile(net, backend="eager")
    assert type(compiled) is t._dynamo.eval_frame.OptimizedModule is t._dynamo.OptimizedModule
    assert compiled._orig_mod is net and not isinstance(compiled, t.nn.Linear)
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert [name for name, _ in compiled.named_parameters()] == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled.weight is net.weight and compiled.in_features == 2
    assert repr(compiled) == ("OptimizedModule(\n  (_orig_mod): Linear(in_features=2, out_features=3, bias=True)\n)")
    compiled.note = 3
    assert net.note == 3
    del compiled.note
    assert not hasattr(net, "note") and not hasattr(compiled, "note")
    compiled.eval()
    assert not net.training and not compiled.training
    net.train()
    assert compiled.training
    assert compiled(t.ones(1, 2)).tolist() == net(t.ones(1, 2)).tolist()
    copied = copy.deepcopy(compiled)
    assert type(copied) is type(compiled) and copied._orig_mod is not net
    assert copied.weight.tolist() == net.weight.tolist()
    assert t.compile(net, disable=True) is net
    compiled.load_state_dict(copied.state_dict())


@BOTH
def test_hooks_of_both_are_called(t):
    net, calls = t.nn.Linear(2, 2), []
    compiled = t.compile(net, backend="eager")
    net.register_forward_hook(lambda *args: calls.append("inner"))
    compiled.register_forward_hook(lambda *args: calls.append("outer"))
    compiled(t.ones(1, 2))
    assert calls == ["inner", "outer"]


@BOTH
def test_a_module_that_compiles_itself(t):
    class Net(t.nn.Module):
        def forward(self, x):
            return x + 1

    backend, seen = graphs()
    net = Net()
    net.compile(backend=backend)
    assert net(t.ones(5, 2)).sum() == 20 and seen == [(5, 2)] and list(net.state_dict()) == []


def test_a_compiled_module_is_saved():
    compiled = torch.compile(torch.nn.Linear(2, 1))
    file = io.BytesIO()
    torch.save(compiled, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert type(loaded) is type(compiled) and loaded.weight.tolist() == compiled.weight.tolist()
