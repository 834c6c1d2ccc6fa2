"""LSTM layers by oneDNN against PyTorch, which has them of oneDNN, too: alone, in tensors' calls, in programs."""

import numpy as np
import pytest

from functorch_core import engine
from functorch_core import torch as ft
from functorch_core.core.aval import aval_of
from functorch_core.core.trace import bind, evaluate, trace
from functorch_core.torch.operators.nn import rnn
from functorch_core.transforms import by_library
from functorch_core.xla import Lstm, onednn
from tests.primitives.check import compiled

from .programs import run_python

pytestmark = pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed")
torch = pytest.importorskip("torch")

TIME, BATCH, INPUTS, WIDE = 4, 33, 7, 64  # enough for oneDNN


def both(seed=0, features=INPUTS, **kwargs):
    """An LSTM, its input and states of both libraries."""
    torch.manual_seed(seed)
    theirs = torch.nn.LSTM(features, WIDE, **kwargs)
    ours = ft.nn.LSTM(features, WIDE, **kwargs)
    ours.load_state_dict({k: ft.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    n = kwargs.get("num_layers", 1) * (2 if kwargs.get("bidirectional") else 1)
    x = torch.randn(BATCH, TIME, features) if kwargs.get("batch_first") else torch.randn(TIME, BATCH, features)
    h, c = torch.randn(n, BATCH, WIDE), torch.randn(n, BATCH, WIDE)
    return theirs, ours, x, h, c


def results(module, library, x, h, c):
    with library.no_grad():
        out, (h, c) = module(x, (h, c))
    return [np.array(v.numpy()) for v in (out, h, c)]


def of_ours(module, *arrays):
    return results(module, ft, *[ft.tensor(v.detach().numpy()) for v in arrays])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_the_job(biased, reverse):
    theirs, _, x, h, c = both(bias=biased, bidirectional=True)
    d, suffix = int(reverse), "_l0_reverse" if reverse else "_l0"
    weights = {k: v.detach().numpy() for k, v in theirs.named_parameters()}
    arrays = [x.numpy(), h[d].numpy().copy(), c[d].numpy().copy()]
    arrays += [weights[f"weight_{kind}{suffix}"].copy() for kind in ("ih", "hh")]
    arrays += [weights["bias_ih" + suffix] + weights["bias_hh" + suffix] if biased else np.zeros(4 * WIDE, np.float32)]
    out, last = np.empty((TIME, BATCH, WIDE), np.float32), np.empty((BATCH, WIDE), np.float32)
    what = Lstm("inference", TIME, BATCH, INPUTS, WIDE, reverse)
    assert Lstm.of_target(what.target()) == what and what.is_there()
    what.job()(*[a.ctypes.data for a in (*arrays, out, last)])
    wanted, _, cells = results(theirs, torch, x, h, c)
    np.testing.assert_allclose(out, wanted[..., d * WIDE : (d + 1) * WIDE], atol=0 if biased else 1e-6, rtol=0)
    np.testing.assert_allclose(last, cells[d], atol=0 if biased else 1e-6, rtol=0)


@pytest.mark.parametrize("tier", ["reference", "fused", "per-op"])
@pytest.mark.parametrize(
    "kwargs",
    [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}, {"proj_size": 0}],
    ids=str,
)
def test_layers(tier, kwargs):
    theirs, ours, *arrays = both(**kwargs)
    with engine.forced_tier(tier):
        found = of_ours(ours, *arrays)
    for a, b in zip(found, results(theirs, torch, *arrays), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6, rtol=0)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e38])
@pytest.mark.parametrize("tier", ["reference", "fused"])
def test_special_numbers(tier, special):
    theirs, ours, x, h, c = both()
    x[1, 2, 3], h[0, 5, 6], c[0, 7, 8] = special, special, special
    with engine.forced_tier(tier):
        found = of_ours(ours, x, h, c)
    for a, b in zip(found, results(theirs, torch, x, h, c), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("tier", ["reference", "fused", "per-op"])
@pytest.mark.parametrize("kwargs", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=str)
def test_gradients(tier, kwargs):
    """By x, the states and all weights, to the last digits PyTorch's."""
    theirs, ours, x, h, c = both(**kwargs)
    with engine.forced_tier(tier):
        mine = [ft.tensor(v.numpy()).requires_grad_() for v in (x, h, c)]
        out, (last, cells) = ours(mine[0], (mine[1], mine[2]))
        (out.sin().sum() + last.sum() + (cells * cells).sum()).backward()
        found = [v.grad.numpy() for v in (*mine, *ours.parameters())]
    arrays = [v.requires_grad_() for v in (x, h, c)]
    out, (last, cells) = theirs(x, (h, c))
    (out.sin().sum() + last.sum() + (cells * cells).sum()).backward()
    for a, v in zip(found, (*arrays, *theirs.parameters()), strict=True):
        np.testing.assert_allclose(a, v.grad.numpy(), atol=2e-6 * float(v.grad.abs().max()), rtol=0)


def layer_of_one(dtype):
    """(a function of x and the weights, x and weights): a sum over a layer's outputs and last states."""
    ft.manual_seed(0)
    module = ft.nn.LSTM(INPUTS, WIDE).to(dtype)
    x = ft.randn(TIME, BATCH, INPUTS).to(dtype)

    def loss(x, weights):
        out, (_, cells) = ft.func.functional_call(module, weights, (x,))
        return (out * out).sum() + cells.sin().sum()

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


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_compose(name):
    """As in float64, of which oneDNN has no layers."""
    found, wanted = (
        DERIVATIVES[name](*layer_of_one(dtype)).to(ft.float64).numpy() for dtype in (ft.float32, ft.float64)
    )
    ft.manual_seed(0)
    np.testing.assert_allclose(found, wanted, atol=2e-3 * np.abs(wanted).max(), rtol=0)


def test_gradients_of_what_another_computed():
    """The bytes that are kept are zeros where a mesh, or a program that is exported, has computed the layer."""
    generator = np.random.default_rng(0)
    shapes = [(TIME, BATCH, INPUTS), *[(BATCH, WIDE)] * 2, (4 * WIDE, INPUTS), (4 * WIDE, WIDE), (4 * WIDE,)]
    operands = [generator.standard_normal(shape).astype(np.float32) / 4 for shape in shapes]

    def layer(x, h, c, *weights):
        outputs, last = rnn._scanned(x, [h, c], rnn.Weights(*weights), "LSTM", None, False)
        return [outputs, last[1]]

    graph, _ = trace(layer, [aval_of(v) for v in operands])
    graphs = by_library._gradients(graph, Lstm("inference", TIME, BATCH, INPUTS, WIDE, False))
    for compute in (evaluate, compiled):
        results = compute(graphs.training, operands)
        node = trace(lambda *v: bind(by_library.by_library_p, *v, graph=graphs.training, call=graphs.call),
                     [aval_of(v) for v in operands])[0]  # fmt: skip
        kept = compute(node, operands)
        assert [v.max() for v in results[2:]] == [0, 0] and kept[3] == [1]
        cotangents = [np.sin(v) for v in results[:2]]
        alone = compute(graphs.cotangents, [*cotangents, *operands, *results])
        for a, b in zip(alone, compute(graphs.cotangents, [*cotangents, *operands, *kept]), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(a).max(), rtol=0)


def test_it_is_called():
    """By the reference tier, and from so much work on that it pays."""
    assert Lstm("inference", TIME, BATCH, INPUTS, WIDE, False).is_there()
    assert not Lstm("inference", 50, 1, 64, 64, False).is_there()
    assert not Lstm("inference", 0, BATCH, INPUTS, WIDE, False).is_there()
    assert not Lstm("inference", 1, 1, 1024, 1024, False).is_there()
    assert not Lstm("inference", 35, 1, 512, 512, False).is_there()


PROGRAM = """
import numpy as np, os, sys
import functorch_core as fc
from functorch_core import torch as ft
from functorch_core.xla import onednn
ft.manual_seed(0)
m, x = ft.nn.LSTM(7, 64), ft.randn(4, 33, 7)
def found(tier):
    with fc.engine.forced_tier(tier), ft.no_grad():
        return m(x)[0].numpy().copy()
"""


def test_programs_from_the_disk():
    program = PROGRAM + "a = found('fused'); print(fc.engine.stats()['compiles'], len(onednn._registered), a.sum())"
    first, again = run_python(program).split(), run_python(program).split()
    assert int(first[0]) > 0 and again[0] == "0"
    assert first[1:] == again[1:] and first[1] == "1"
    assert run_python(program, FUNCTORCH_ONEDNN="0").split()[1] == "0"


def test_forked_children_compute_without_it():
    program = """
wanted = found("fused")
found("reference")
child = os.fork()
if not child:
    os._exit(0 if np.allclose(found("reference"), wanted, atol=1e-5) and not onednn.is_available() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(PROGRAM + program).split() == ["0"]
