"""torch.jit.trace keeps the branches of one run, as PyTorch's; what torch.jit.script refuses."""

import importlib.util
import io
import textwrap
import warnings
import zipfile

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
# PyTorch 2.13 calls all of torch.jit deprecated, or on Python 3.14 not supported.
pytestmark = pytest.mark.filterwarnings("ignore:.*Please switch to .torch:DeprecationWarning")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


def branching(x):
    return x * 2 if x.sum() > 0 else x - 1


def filled(t, net):
    """The module with known weights."""
    with t.no_grad():
        for i, weight in enumerate(net.parameters()):
            weight.copy_(t.arange(weight.numel()).reshape(weight.shape) * 0.1 + i)
    return net


def traced(t, function, *inputs, **options):
    """What torch.jit.trace makes, and the first words of its TracerWarnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = t.jit.trace(function, inputs, **options)
    return made, sorted({str(w.message)[:60] for w in caught if w.category.__name__ == "TracerWarning"})


# ---- functions -----------------------------------------------------------------------------------


FUNCTIONS = {
    "a branch": (branching, (3,), (3,)),
    "an integer": (lambda x: x * int(x.sum()), (3,), (4,)),
    "a float": (lambda x: x * float(x.sum()), (3,), (4,)),
    "an item": (lambda x: x * x.sum().item(), (3,), (4,)),
    "a list": (lambda x: x + x.tolist()[0], (3,), (3,)),
    "a length": (lambda x: x * len(x), (3,), (4,)),
    "sizes": (lambda x: x.view(x.size(0), -1), (3, 2, 2), (4, 2, 2)),
    "arithmetic of sizes": (lambda x: x.expand(x.shape[0] * 2 // 2, -1).sum(), (3, 2), (4, 2)),
    "in place": (lambda x: (y := x.clone(), y.mul_(3), y.add_(x), y)[-1], (3,), (5,)),
    "an item assigned": (lambda x: (y := x * 1, y.__setitem__(0, x.sum()), y)[-1], (3,), (5,)),
    "attributes": (lambda x: x.T @ x.mT, (2, 2), (2, 2)),
    "several results": (lambda x: x.max(0), (3, 2), (5, 2)),
    "a tuple": (lambda x: (x.split(1)[1], (x + 1,)), (3,), (3,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_goes_the_way_of_its_trace(name):
    function, first, then = FUNCTIONS[name]
    found = []
    for t in (torch, reference):
        made, warned = traced(t, function, t.ones(first))
        out = made(-t.ones(then))
        found.append(([x.tolist() for x in t.utils._pytree.tree_leaves(out)], warned))
    assert found[0] == found[1]


@BOTH
def test_structures_of_inputs(t):
    made, _ = traced(t, lambda pair, z: {"y": pair[0] + pair[1] * z}, (t.ones(1), t.ones(1)), t.ones(1), strict=False)
    assert made((t.ones(2), t.ones(2)), z=t.ones(1))["y"].tolist() == [2, 2]


@BOTH
def test_factories_use_the_sizes(t):
    made, _ = traced(t, lambda x: t.zeros(x.shape[0] * 2), t.ones(3))
    assert made(t.ones(4)).shape == (8,)


@BOTH
def test_closures_and_gradients(t):
    weight = t.ones(2, requires_grad=True)
    if t is torch:  # PyTorch refuses constants that require grad
        made, _ = traced(t, lambda x: x * weight, t.ones(2))
        made(t.ones(2) * 3).sum().backward()
        assert weight.grad.tolist() == [3, 3]
    constant = t.tensor([5.0])
    made, _ = traced(t, lambda x: x * constant, t.ones(2))
    x = t.ones(3, requires_grad=True)
    made(x).sum().backward()
    assert x.grad.tolist() == [5, 5, 5]


@BOTH
@pytest.mark.parametrize(
    "function, inputs, text",
    [
        (lambda x, y: x * y, (1, 2), r"Type 'Tuple\[Tensor, int\]' cannot be traced. Only Tensors and"),
        (lambda x: 2, (1,), "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output"),
        (lambda x: None, (1,), "The traced function didn't return any values! Side-effects"),
    ],
)
def test_what_cannot_be_traced(t, function, inputs, text):
    inputs = (t.ones(inputs[0]), *inputs[1:])
    with pytest.raises(RuntimeError, match=text):
        t.jit.trace(function, inputs)


@BOTH
def test_too_many_arguments(t):
    made, _ = traced(t, branching, t.ones(2))
    with pytest.raises(RuntimeError, match=r"expected at most 1 argument\(s\) but received 2 argument\(s\)"):
        made(t.ones(2), t.ones(2))


def test_what_the_graph_cannot_hold_is_an_error():
    """Not a constant that is silently wrong for other inputs."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    for function in (lambda x: torch.vmap(torch.sin)(x) + 1, lambda x: torch.func.grad(lambda y: y.sum())(x) + x):
        with pytest.raises(NotImplementedError, match="torch.jit.trace of such a function"):
            torch.jit.trace(function, torch.ones(3))


@BOTH
def test_is_tracing(t):
    seen = []
    traced(t, lambda x: (seen.append(t.jit.is_tracing()), x + 1)[1], t.ones(1), check_trace=False)
    traced(t, lambda x: (seen.append(t._C._get_tracing_state() is not None), x + 1)[1], t.ones(1), check_trace=False)
    assert seen == [True, True] and not t.jit.is_tracing() and t._C._get_tracing_state() is None


@BOTH
def test_kinds(t):
    function, _ = traced(t, branching, t.ones(2))
    module, _ = traced(t, t.nn.Linear(2, 2), t.ones(1, 2))
    assert isinstance(function, t.jit.ScriptFunction) and not isinstance(function, t.jit.ScriptModule)
    assert isinstance(module, t.jit.ScriptModule) and isinstance(module, t.nn.Module)
    assert not isinstance(module, t.jit.ScriptFunction)
    assert "mul" in str(function.graph) and "def" in function.code and "linear" in str(module.inlined_graph)


# ---- modules -------------------------------------------------------------------------------------


@BOTH
def test_a_module(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = t.nn.Linear(2, 3), t.nn.BatchNorm1d(3)
            self.unused = t.nn.Linear(1, 1)
            self.register_buffer("scale", t.ones(3))

        def forward(self, x):
            x = self.norm(self.first(x)) * self.scale
            return x.relu() if x.sum() > 0 else x.tanh()

    net = filled(t, Net()).eval()
    made, _ = traced(t, net, t.ones(2, 2))
    assert sorted(made.state_dict()) == sorted(net.state_dict()) and not made.training
    assert [name for name, _ in made.named_modules()] == ["", "first", "norm", "unused"]
    assert made.original_name == "Net" and made.first.weight.tolist() == net.first.weight.tolist()
    x = -1000 * t.ones(3, 2)
    assert made(x).sum() == 0 and net(x).sum() < 0 and made(x=x).shape == (3, 3)
    made.load_state_dict({name: value * 0 for name, value in net.state_dict().items()})
    assert made(t.ones(1, 2)).tolist() == [[0, 0, 0]]
    assert net.first.weight.sum() == 0  # the parameters are shared
    made.double()
    assert made(t.ones(1, 2, dtype=t.float64)).dtype is t.float64


@BOTH
def test_the_mode_of_the_trace_is_kept(t):
    net = t.nn.Dropout()
    made, _ = traced(t, net, t.ones(100), check_trace=False)
    assert (made.eval()(t.ones(1000)) == 0).any()


@BOTH
def test_methods(t):
    class Net(t.nn.Linear):
        def twice(self, x):
            return self.forward(self.forward(x))

    net = filled(t, Net(2, 2))
    made = t.jit.trace_module(net, {"forward": t.ones(1, 2), "twice": t.ones(1, 2)})
    x = t.ones(4, 2)
    assert made.twice(x).tolist() == net.twice(x).tolist() and made(x).tolist() == net(x).tolist()
    assert t.jit.trace(net.forward, t.ones(1, 2))(x).tolist() == net(x).tolist()
    by_name = t.jit.trace(net, example_kwarg_inputs={"input": t.ones(1, 2)})
    assert by_name(input=x).tolist() == net(x).tolist()
    if t is torch:
        assert t.jit.freeze(made.eval())(x).shape == (4, 2)


def test_state_is_changed_once():
    """PyTorch's checks run the module four times more."""
    net = torch.nn.BatchNorm1d(2)
    torch.manual_seed(0)
    torch.jit.trace(net, torch.rand(4, 2))
    after = torch.rand(1)
    torch.manual_seed(0)
    torch.rand(4, 2)
    assert net.num_batches_tracked == 1 and torch.rand(1) == after


# ---- files ---------------------------------------------------------------------------------------


@BOTH
def test_a_traced_module_is_saved(t):
    net = filled(t, t.nn.Sequential(t.nn.Conv2d(1, 2, 3, stride=(2, 1)), t.nn.BatchNorm2d(2), t.nn.Flatten())).eval()
    net[0].bias.requires_grad_(False)
    made, _ = traced(t, net, t.ones(1, 1, 5, 5))
    for loaded in (saved(t, made), saved(t, saved(t, made))):
        x = t.ones(2, 1, 7, 7)
        assert loaded(x).tolist() == net(x).tolist() and not loaded.training
        assert list(loaded.state_dict()) == list(net.state_dict())
        assert isinstance(loaded, t.jit.ScriptModule)
        assert "conv" in str(loaded.inlined_graph)
        assert [p.requires_grad for p in loaded.parameters()] == [p.requires_grad for p in net.parameters()]


def saved(t, made):
    """What is loaded from a file of it."""
    file = io.BytesIO()
    t.jit.save(made, file)
    file.seek(0)
    return t.jit.load(file)


@BOTH
def test_a_traced_function_is_saved(t, tmp_path):
    constant = t.tensor([5.0])
    made, _ = traced(t, lambda x: (x[..., 0, 1:], (x.to(t.float64), x * constant)), t.ones(2, 3))
    made.save(str(tmp_path / "f.pt"))
    loaded = t.jit.load(str(tmp_path / "f.pt"))
    found = loaded(2 * t.ones(2, 3))
    assert found[0].tolist() == [2, 2] and found[1][0].dtype is t.float64 and found[1][1].sum() == 60


@BOTH
def test_layers_with_further_arguments(t):
    net = t.nn.LSTM(3, 4, batch_first=True)
    made, _ = traced(t, net, t.ones(2, 5, 3))
    x = t.ones(3, 7, 3)
    for other in (made, saved(t, made), saved(t, saved(t, made))):
        assert t.allclose(other(x)[0], net(x)[0], atol=1e-6) and other(x)[1][0].shape == (1, 3, 4)


def test_what_has_no_file():
    for thing in (torch.jit.script(branching), torch.jit.script(torch.nn.Linear(1, 1))):
        with pytest.raises(
            NotImplementedError, match="torch.jit.save of what was scripted .* no writer of TorchScript"
        ):
            torch.jit.save(thing, io.BytesIO())
        with pytest.raises(NotImplementedError, match="torch.jit.save of what was scripted"):
            thing.save("file")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("model/constants.pkl", b"")
    with pytest.raises(NotImplementedError, match="torch.jit.load of a TorchScript archive"):
        torch.jit.load(archive)


def test_a_file_calls_pytorchs_functions_only():
    made = torch.jit.trace(lambda x: x.relu() + 1, torch.ones(1))
    file = io.BytesIO()
    torch.jit.save(made, file)
    file.seek(0)
    contents = torch.load(file, weights_only=True)
    contents["nodes"][-2][2], contents["nodes"][-2][0] = "os.system", "call_function"
    file = io.BytesIO()
    torch.save(contents, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="the file calls 'os.system'"):
        torch.jit.load(file)


# ---- script --------------------------------------------------------------------------------------

REFUSED = """
    def f(*args): return args[0]
    def f(x, **options): return x
    def f(x, *, y=1): return x
    def f(x): yield x
    def f(x):
        try: return x
        finally: pass
    def f(x):
        def g(y): return y
        return g(x)
    def f(x):
        g = lambda y: y
        return g(x)
    def f(x):
        class A: pass
        return x
    def f(x):
        global z
        z = 1
        return x
    def f(x): return {1, 2}
    def f(x):
        import os
        return x
    def f(x): return (y := x)
    f = lambda x: x
    def f(x):
        if not torch.jit.is_scripting():
            g = lambda y: y
        return x
"""
TAKEN = """
    def f(x): return [i for i in range(3)]
    def f(x, y: int = 2):
        while y > 0:
            y -= 1
        return x + y
    def f(x):
        assert x is not None, "no"
        with torch.no_grad():
            return x + 1
"""


def programs(text: str) -> list[str]:
    """The definitions in a text; each begins in the first column."""
    found: list[str] = []
    for line in textwrap.dedent(text).strip().splitlines():
        if line[0] != " ":
            found.append("")
        found[-1] += line + "\n"
    return found


def verdict(t, program: str, path) -> tuple:
    """What torch.jit.script says of a function in a file: the error's kind and its first line."""
    path.write_text(f"import {t.__name__ if t is reference else 'functorch_core.torch as torch'}\n{program}")
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        t.jit.script(module.f)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0].partition(str(path))[0]
    return ("none",)


@pytest.mark.parametrize("program", [*programs(REFUSED), *programs(TAKEN)])
def test_syntax(program, tmp_path):
    ours, theirs = (verdict(t, program, tmp_path / f"{t.__version__}.py") for t in (torch, reference))
    assert ours == theirs and (ours == ("none",)) == (program in programs(TAKEN))


@pytest.mark.parametrize("op", ["1 / x", "1 - x", "2 ** x", "3 // x", "3 % x", "1 + x", "2 * x"])
def test_reflected_operators(op):
    def f(t):
        traced = t.jit.trace(eval(f"lambda x: {op}"), (t.full((2,), 3.0),))
        return traced(t.tensor([2.0, 5.0])).tolist()

    assert f(torch) == pytest.approx(f(reference))


def test_trace_of_one_tensor_given_twice():
    x = torch.ones(2)
    traced = torch.jit.trace(lambda a, b: a - 2 * b, (x, x))
    assert traced(torch.tensor([5.0, 6.0]), torch.tensor([1.0, 2.0])).tolist() == [3.0, 2.0]


def test_trace_of_a_function_with_a_module_for_an_argument():
    loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=torch.nn.PairwiseDistance())
    traced = torch.jit.trace(loss, [torch.ones(2, 3)] * 3)
    x = torch.arange(18.0).reshape(3, 2, 3)
    assert torch.equal(traced(*x), loss(*x))
