"""Recurrent layers by oneDNN against PyTorch: alone, in tensors' calls, in programs."""

import numpy as np
import pytest

from functorch_core import engine
from functorch_core import torch as ft
from functorch_core.core.aval import aval_of
from functorch_core.core.trace import bind, evaluate, trace
from functorch_core.torch.operators.nn import rnn
from functorch_core.transforms import by_library
from functorch_core.xla import Gru, Lstm, onednn
from tests.primitives.check import compiled

from .programs import run_python

pytestmark = pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed")
torch = pytest.importorskip("torch")

TIME, BATCH, INPUTS, WIDE = 4, 43, 7, 64  # enough for oneDNN
LAYERS = {"LSTM": Lstm, "GRU": Gru}
each_layer = pytest.mark.parametrize("name", LAYERS)


def both(name, seed=0, features=INPUTS, **kwargs):
    """A module, its input and states of both libraries."""
    torch.manual_seed(seed)
    theirs = getattr(torch.nn, name)(features, WIDE, **kwargs)
    ours = getattr(ft.nn, name)(features, WIDE, **kwargs)
    ours.load_state_dict({k: ft.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    n = kwargs.get("num_layers", 1) * (2 if kwargs.get("bidirectional") else 1)
    x = torch.randn(BATCH, TIME, features) if kwargs.get("batch_first") else torch.randn(TIME, BATCH, features)
    return theirs, ours, x, *[torch.randn(n, BATCH, WIDE) for _ in range(LAYERS[name].cell.states)]


def called(module, x, *states):
    """[outputs, *last states]"""
    out, last = module(x, states if len(states) > 1 else states[0])
    return [out, *last] if isinstance(last, tuple) else [out, last]


def results(module, library, *arrays):
    with library.no_grad():
        return [np.array(v.numpy()) for v in called(module, *arrays)]


def of_ours(module, *arrays):
    return results(module, ft, *[ft.tensor(v.detach().numpy()) for v in arrays])


def of_library(name, weights):
    """What the library takes of a layer's weights, which are NumPy arrays."""
    return [np.array(v) for v in rnn._for_library(rnn.Weights(*weights), name)]


@each_layer
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_the_job(name, biased, reverse):
    theirs, _, x, *states = both(name, bias=biased, bidirectional=True)
    d, suffix = int(reverse), "_l0_reverse" if reverse else "_l0"
    weights = [v.detach().numpy() for k, v in theirs.named_parameters() if k.endswith(suffix)]
    arrays = [x.numpy(), *[v[d].numpy().copy() for v in states], *of_library(name, weights)]
    found = [np.empty((TIME, BATCH, WIDE), np.float32), *[np.empty((BATCH, WIDE), np.float32) for _ in states[1:]]]
    what = LAYERS[name]("inference", TIME, BATCH, INPUTS, WIDE, reverse)
    assert LAYERS[name].of_target(what.target()) == what and what.is_there()
    what.job()(*[a.ctypes.data for a in (*arrays, *found)])
    out, _, *rest = results(theirs, torch, x, *states)
    exact = biased and name == "LSTM"  # PyTorch's is of oneDNN, too
    for a, b in zip(found, [out[..., d * WIDE : (d + 1) * WIDE], *[v[d] for v in rest]], strict=True):
        np.testing.assert_allclose(a, b, atol=0 if exact else 1e-6, rtol=0)


def test_layers_of_other_cells_are_others():
    lstm, gru = (layer("inference", TIME, BATCH, INPUTS, WIDE, False) for layer in LAYERS.values())
    assert lstm != gru and lstm.target() != gru.target()


@each_layer
@pytest.mark.parametrize("tier", ["reference", "fused", "per-op"])
@pytest.mark.parametrize(
    "kwargs",
    [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}, {"features": 64}],
    ids=str,
)
def test_layers(tier, kwargs, name):
    theirs, ours, *arrays = both(name, **kwargs)
    with engine.forced_tier(tier):
        found = of_ours(ours, *arrays)
    for a, b in zip(found, results(theirs, torch, *arrays), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6, rtol=0)


@each_layer
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e38])
@pytest.mark.parametrize("tier", ["reference", "fused"])
def test_special_numbers(tier, special, name):
    theirs, ours, x, *states = both(name)
    for i, v in enumerate((x, *states)):
        v[i % len(v), 2 + 3 * i, 3 + 3 * i] = special
    with engine.forced_tier(tier):
        found = of_ours(ours, x, *states)
    for a, b in zip(found, results(theirs, torch, x, *states), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6, rtol=1e-6)


def loss_of(out, *last):
    return out.sin().sum() + sum((v * v).sum() for v in last)


@each_layer
@pytest.mark.parametrize("tier", ["reference", "fused", "per-op"])
@pytest.mark.parametrize("kwargs", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=str)
def test_gradients(tier, kwargs, name):
    """By x, the states and all weights, to the last digits PyTorch's."""
    theirs, ours, *arrays = both(name, **kwargs)
    with engine.forced_tier(tier):
        mine = [ft.tensor(v.numpy()).requires_grad_() for v in arrays]
        loss_of(*called(ours, *mine)).backward()
        found = [v.grad.numpy() for v in (*mine, *ours.parameters())]
    arrays = [v.requires_grad_() for v in arrays]
    loss_of(*called(theirs, *arrays)).backward()
    for a, v in zip(found, (*arrays, *theirs.parameters()), strict=True):
        np.testing.assert_allclose(a, v.grad.numpy(), atol=2e-6 * float(v.grad.abs().max()), rtol=0)


def layer_of_one(name, dtype):
    """(a function of x and the weights, x and weights): a sum over a layer's outputs and last states."""
    ft.manual_seed(0)
    module = getattr(ft.nn, name)(INPUTS, WIDE).to(dtype)
    x = ft.randn(TIME, BATCH, INPUTS).to(dtype)

    def loss(x, weights):
        out, last = ft.func.functional_call(module, weights, (x,))
        return (out * out).sum() + (last[1] if name == "LSTM" else last).sin().sum()

    return loss, x, {k: v.detach() for k, v in module.named_parameters()}


DERIVATIVES = {
    "grad": lambda f, x, w: ft.func.grad(f, (0, 1))(x, w)[0],
    "jvp": lambda f, x, w: ft.func.jvp(lambda x: f(x, w), (x,), (x.cos(),))[1],
    "grad of grad": lambda f, x, w: ft.func.grad(lambda x: (ft.func.grad(f)(x, w) * x).sum())(x),
    "jvp of grad": lambda f, x, w: ft.func.jvp(lambda x: ft.func.grad(f)(x, w), (x,), (x.cos(),))[1],
    "grad of jvp": lambda f, x, w: ft.func.grad(lambda x: ft.func.jvp(lambda x: f(x, w), (x,), (x.cos(),))[1])(x),
    "by examples": lambda f, x, w: ft.func.vmap(
        lambda x: ft.func.grad(lambda w: f(x[:, None], w))(w)["weight_hh_l0"], 1
    )(x[:, :4]),
    "by ensembles": lambda f, x, w: ft.func.vmap(lambda k: ft.func.grad(f)(x * k, w))(ft.arange(1, 4).to(x.dtype)),
    "jacrev": lambda f, x, w: ft.func.jacrev(lambda k: ft.func.grad(f)(x * k, w)[0, 0])(ft.ones((), dtype=x.dtype)),
}


@each_layer
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives_compose(derivative, name):
    """As in float64, of which oneDNN has no layers."""
    found, wanted = (
        DERIVATIVES[derivative](*layer_of_one(name, dtype)).to(ft.float64).numpy() for dtype in (ft.float32, ft.float64)
    )
    ft.manual_seed(0)
    np.testing.assert_allclose(found, wanted, atol=2e-3 * np.abs(wanted).max(), rtol=0)


@each_layer
def test_gradients_of_what_another_computed(name):
    """The bytes that are kept are zeros where a mesh, or a program that is exported, has computed the layer."""
    generator, call = np.random.default_rng(0), LAYERS[name]("inference", TIME, BATCH, INPUTS, WIDE, False)
    gates, m = call.cell.gates, call.cell.states
    shapes = [(TIME, BATCH, INPUTS), *[(BATCH, WIDE)] * m, (gates * WIDE, INPUTS), (gates * WIDE, WIDE), (4 * WIDE,)]
    operands = [generator.standard_normal(shape).astype(np.float32) / 4 for shape in shapes]

    def layer(x, *rest):
        weights = rnn._from_library(*rest[m:], name)
        outputs, last = rnn._scanned(x, list(rest[:m]), weights, name, None, False)
        return [outputs, *last[1:]]

    graph, _ = trace(layer, [aval_of(v) for v in operands])
    graphs = by_library._gradients(graph, call)
    for compute in (evaluate, compiled):
        results = compute(graphs.training, operands)
        node = trace(lambda *v: bind(by_library.by_library_p, *v, graph=graphs.training, call=graphs.call),
                     [aval_of(v) for v in operands])[0]  # fmt: skip
        kept = compute(node, operands)
        assert [v.max() for v in results[m:]] == [0, 0] and kept[-1] == [1]
        cotangents = [np.sin(v) for v in results[:m]]
        alone = compute(graphs.cotangents, [*cotangents, *operands, *results])
        for a, b in zip(alone, compute(graphs.cotangents, [*cotangents, *operands, *kept]), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(a).max(), rtol=0)


def test_it_is_called():
    """By the reference tier, and from so much work on that it pays."""
    for layer in LAYERS.values():
        large = layer("inference", TIME, BATCH, INPUTS, WIDE, False)
        assert large.is_there() and large.for_gradients()
        assert not layer("inference", 50, 1, 64, 64, False).is_there()
        assert not layer("inference", 0, BATCH, INPUTS, WIDE, False).is_there()
        assert not layer("inference", 1, 1, 1024, 1024, False).is_there()
        assert not layer("inference", 35, 1, 512, 512, False).is_there()
    gru = Gru("inference", 10, 32, 64, 64, False)
    assert gru.is_there() and gru.for_gradients() is None


PROGRAM = """
import numpy as np, os, sys
import functorch_core as fc
from functorch_core import torch as ft
from functorch_core.xla import onednn
ft.manual_seed(0)
m, x = ft.nn.LAYER(7, 64), ft.randn(4, 33, 7)
def found(tier):
    with fc.engine.forced_tier(tier), ft.no_grad():
        return m(x)[0].numpy().copy()
"""


@each_layer
def test_programs_from_the_disk(name):
    program = PROGRAM.replace("LAYER", name)
    program += "a = found('fused'); print(fc.engine.stats()['compiles'], len(onednn._registered), a.sum())"
    first, again = run_python(program).split(), run_python(program).split()
    assert int(first[0]) > 0 and again[0] == "0"
    assert first[1:] == again[1:] and first[1] == "1"
    assert run_python(program, FUNCTORCH_ONEDNN="0").split()[1] == "0"


@each_layer
def test_forked_children_compute_without_it(name):
    program = """
wanted = found("fused")
found("reference")
child = os.fork()
if not child:
    os._exit(0 if np.allclose(found("reference"), wanted, atol=1e-5) and not onednn.is_available() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(PROGRAM.replace("LAYER", name) + program).split() == ["0"]
