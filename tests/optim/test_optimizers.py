"""The classes of torch.optim against PyTorch's."""

import copy
import importlib
import pickle
import sys
import weakref

import numpy as np
import pytest
from functorch_core.nn import Parameter

from functorch_core import engine, nn, optim, torch
from tests.nn.both import agree

reference = pytest.importorskip("torch")
LIBRARIES = (torch, optim), (reference, reference.optim)

CASES = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"betas": (0.5, 0.6)}),
    ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1, "eps": 1e-3}),
    ("AdamW", {}),
    ("AdamW", {"maximize": True, "amsgrad": True, "weight_decay": 0}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {}),
    ("NAdam", {"momentum_decay": 0.01, "weight_decay": 0.1}),
    ("RAdam", {}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"betas": (0.9, 0.6)}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("Adadelta", {}),
    ("Adadelta", {"rho": 0.5, "weight_decay": 0.1}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1)}),
    ("ASGD", {}),
    ("ASGD", {"t0": 2, "lambd": 0.1, "weight_decay": 0.1}),
    ("Adafactor", {}),
    ("Adafactor", {"d": 1.5, "eps": (1e-3, 1e-2), "weight_decay": 0.1}),
    ("Muon", {}),
    ("Muon", {"adjust_lr_fn": "match_rms_adamw", "nesterov": False}),
]
IDS = [f"{name} {kwargs}" for name, kwargs in CASES]
VECTORLESS = ("Muon",)
REAL_ONLY = ("Muon", "Adafactor")
rng = np.random.default_rng(1)


def shapes(name):
    """Parameters an optimizer takes."""
    return (
        [(4, 3), (2, 5)]
        if name in VECTORLESS
        else [(4, 3), (), (5,), (2, 3, 2), (0, 3)][: 4 if name == "Adafactor" else 5]
    )


def arrays(name, dtype="float32"):
    """Start values and curvatures."""
    found = []
    for shape in shapes(name):
        x = rng.standard_normal((2, *shape))
        found.append((x + 0.5j * x[::-1] if "complex" in dtype else x).astype(dtype))
    return found


def parameters(lib, values):
    """Leaves."""
    return [lib.tensor(v[0]).requires_grad_() for v in values]


def step(lib, optimizer, params, values, skip=()):
    """One step down a bowl; `skip` have no gradient."""
    optimizer.zero_grad()
    for i, (p, v) in enumerate(zip(params, values)):
        if i not in skip:
            p.grad = (p.detach() - 1) * (1 + lib.tensor(abs(v[1])).to(p.dtype))
    optimizer.step()


def close(ours, theirs, rtol=1e-5, atol=1e-6):
    """All parameters agree."""
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=atol)


def trajectory(name, kwargs, dtype="float32", steps=8, skip=()):
    """Optimizers, parameters of both libraries after some steps that agree."""
    values = arrays(name, dtype)
    runs = []
    for lib, module in LIBRARIES:
        params = parameters(lib, values)
        runs.append((lib, getattr(module, name)(params, **kwargs), params))
    for i in range(steps):
        for lib, optimizer, params in runs:
            step(lib, optimizer, params, values, skip if i % 2 else ())
        close(runs[0][2], runs[1][2], rtol=1e-4 if "32" in dtype or "64" == dtype[-2:] else 1e-7, atol=1e-5)
    return runs


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, kwargs", CASES, ids=IDS)
def test_trajectory(name, kwargs):
    trajectory(name, {"lr": 0.05, **kwargs})


@pytest.mark.parametrize("name, kwargs", CASES, ids=IDS)
def test_float64(name, kwargs):
    if name == "Muon":
        pytest.skip("works in bfloat16")
    trajectory(name, {"lr": 0.05, **kwargs}, "float64", steps=3)


@pytest.mark.parametrize(
    "name, kwargs",
    [c for c in CASES if c[0] not in REAL_ONLY],
    ids=[i for i, c in zip(IDS, CASES) if c[0] not in REAL_ONLY],
)
def test_complex(name, kwargs):
    trajectory(name, {"lr": 0.05, **kwargs}, "complex64", steps=4)


@pytest.mark.parametrize("name, kwargs", [c for c in CASES if c[0] != "Muon"][::3])
def test_parameters_with_different_counts(name, kwargs):
    trajectory(name, {"lr": 0.05, **kwargs}, steps=5, skip=(1, 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"])
def test_half_precision(name, dtype):
    found = []
    for lib, module in LIBRARIES:
        p = lib.linspace(-2, 2, 16).to(getattr(lib, dtype)).requires_grad_()
        optimizer = getattr(module, name)([p], lr=0.125)
        for _ in range(4):
            p.grad = p.detach() - 1
            optimizer.step()
        found.append(p.detach().float().numpy())
    np.testing.assert_allclose(*found, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lbfgs(line_search_fn, dtype):
    # In float32 the search decides by last bits, which differ between tiers: one is chosen.
    with engine.forced_tier("reference" if dtype == "float32" else "auto"):
        _compare_lbfgs(line_search_fn, dtype)


def _compare_lbfgs(line_search_fn, dtype):
    found = []
    for lib, module in LIBRARIES:
        x = lib.tensor([-1.2, 1.0], dtype=getattr(lib, dtype), requires_grad=True)
        y = lib.zeros(3, dtype=getattr(lib, dtype), requires_grad=True)
        optimizer = module.LBFGS(
            [x, y], lr=0.1 if line_search_fn is None else 1.0, max_iter=6, line_search_fn=line_search_fn, history_size=4
        )

        def closure():
            optimizer.zero_grad()
            loss = (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2 + ((y - 1) ** 2).sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(4)]
        state = optimizer.state_dict()["state"][0]
        kinds = {k: type(v).__name__ for k, v in state.items()}
        found.append((losses, x.tolist(), y.tolist(), kinds))
    tolerance = 1e-3 if dtype == "float32" else 1e-8  # curvature magnifies rounding
    for a, b in zip(found[0][:3], found[1][:3]):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    assert found[0][3] == found[1][3]


# ---- how it is done ------------------------------------------------------------------------------


def test_a_step_is_one_recorded_op():
    params = [Parameter(torch.randn(4, 4)) for _ in range(6)]
    optimizer = optim.AdamW(params, lr=0.1)
    for p in params:
        p.grad = torch.ones(4, 4)
    optimizer.step()
    engine.flush()
    recorded = []
    original = engine.recorder.Recording.flush

    def flush(self, *args):
        recorded.extend(unit.name for unit, _ in self.calls())
        return original(self, *args)

    engine.recorder.Recording.flush = flush
    try:
        optimizer.step()
    finally:
        engine.recorder.Recording.flush = original
    assert recorded == ["adam"]


def test_copies_of_a_layer_make_the_first_step_no_other_program():
    """copy.deepcopy shares arrays until somebody writes; a step of them would have fewer inputs."""
    layer = nn.Linear(40, 40)
    layers = [layer, *(copy.deepcopy(layer) for _ in range(3))]
    params = [p for m in layers for p in m.parameters()]
    values = [p.tolist() for p in params]
    optimizer = optim.AdamW(params, lr=0.1)
    assert [p.tolist() for p in params] == values
    with engine.forced_tier("fused"):
        before = engine.stats()["plans"]
        for _ in range(3):
            optimizer.zero_grad()
            x = torch.ones(2, 40)
            for m in layers:
                x = m(x)
            x.square().sum().backward()
            optimizer.step()
        engine.flush()
        assert engine.stats()["plans"] == before + 1


@pytest.mark.parametrize("checked", [False, True])
def test_the_first_step_of_many_small_parameters_is_not_compiled(checked):
    """NumPy takes 26 ms for their update, the compiler 40 s. `checked`: an index is yet to be checked."""

    def trained(lib, module):
        params = [lib.nn.Parameter(lib.ones(2) * i) for i in range(2000)]
        table, optimizer = lib.ones(3), module.Adam(params, 0.1)
        for _ in range(2):
            loss = sum([p.sum() for p in params])
            if checked:
                loss = loss * table[(params[0].detach().abs() * 0).long()].sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return lib.stack(params).detach().numpy()

    before = engine.stats()["compiles"]
    ours = trained(torch, optim)
    assert engine.stats()["compiles"] == before
    np.testing.assert_allclose(ours, trained(reference, reference.optim), rtol=1e-5, atol=1e-6)


def test_a_schedule_compiles_nothing():
    p = Parameter(torch.ones(300, 300))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)

    def once(lr, momentum):
        optimizer.param_groups[0].update(lr=lr, momentum=momentum)
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()

    with engine.forced_tier("fused"):
        for _ in range(3):
            once(0.1, 0.9)
        with engine.fail_on_recompile():
            for i in range(4):
                once(0.1 / (i + 2), 0.9 - i / 100)


def test_old_values_die_before_the_step_is_computed():
    """So that their memory can be used for the new ones."""
    p = Parameter(torch.ones(300, 300))
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = torch.ones(300, 300)
    optimizer.step()
    state = optimizer.state[p]
    old = [weakref.ref(x._read()) for x in (p, state["exp_avg"], state["exp_avg_sq"])]
    alive = []
    optimizer.register_step_post_hook(lambda *args: alive.extend(sys.getrefcount(ref()) for ref in old))
    optimizer.step()
    # the recording's list and dictionary of inputs, and the argument of getrefcount
    assert alive == [3, 3, 3] and not any(ref() for ref in old)


def test_in_place():
    p = Parameter(torch.ones(3))
    alias, view = p.detach(), p.detach()[1:]
    optimizer = optim.SGD([p], lr=0.5)
    p.grad = torch.ones(3)
    version = p._version
    optimizer.step()
    assert p._version == version + 1 and p.is_leaf and p.grad_fn is None
    assert alias.tolist() == p.tolist() == [0.5] * 3 and view.tolist() == [0.5] * 2
    y = (p * p).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_learning_rate_tensor():
    for cls in (optim.SGD, optim.Adam, optim.Adadelta):
        p, q = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        lr = torch.tensor(0.25)
        first, second = cls([p], lr=lr), cls([q], lr=0.25)
        for rate in (0.25, 0.5):
            lr.fill_(rate)
            second.param_groups[0]["lr"] = rate
            p.grad, q.grad = torch.ones(3), torch.ones(3)
            first.step()
            second.step()
        np.testing.assert_allclose(p.tolist(), q.tolist(), rtol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "RAdam", "Adamax"])
def test_differentiable(name):
    found = []
    for lib, module in LIBRARIES:
        start = lib.tensor([1.0, 2.0, 3.0], dtype=lib.float64, requires_grad=True)
        p = start.clone()
        grad = (start**2).clone()
        optimizer = getattr(module, name)([p], lr=0.1, differentiable=True)
        p.grad = grad
        optimizer.step()
        (p**2).sum().backward()
        found.append((p.tolist(), start.grad.tolist()))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_closure_and_result():
    p = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        assert torch.is_grad_enabled()
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 2.0
    assert p.tolist() == [0.5, 0.5] and optimizer.step() is None


def test_zero_grad():
    p = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([p])
    (p * 2).sum().backward()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None


# ---- states --------------------------------------------------------------------------------------


def structure(x):
    """Kinds and shapes of everything in a state dict."""
    if isinstance(x, dict):
        return {k: structure(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [structure(v) for v in x]
    return (str(x.dtype), tuple(x.shape)) if hasattr(x, "dtype") else x


@pytest.mark.parametrize("name, kwargs", CASES, ids=IDS)
def test_state_dict(name, kwargs):
    (_, ours, _), (_, theirs, _) = trajectory(name, {"lr": 0.05, **kwargs}, steps=2)
    assert structure(ours.state_dict()) == structure(theirs.state_dict())
    for i, state in theirs.state_dict()["state"].items():
        for key, expected in state.items():
            np.testing.assert_allclose(
                ours.state_dict()["state"][i][key].numpy(), expected.numpy(), rtol=1e-4, atol=1e-5
            )
    assert repr(ours) == repr(theirs)


def moved(x, lib):
    """A state dict of one library as one of the other."""
    if isinstance(x, dict):
        return {k: moved(v, lib) for k, v in x.items()}
    if isinstance(x, list):
        return [moved(v, lib) for v in x]
    return lib.tensor(x.detach().numpy()) if hasattr(x, "detach") else x


@pytest.mark.parametrize("name, kwargs", CASES[::2], ids=IDS[::2])
def test_state_from_pytorch(name, kwargs):
    values = arrays(name)
    theirs = parameters(reference, values)
    source = getattr(reference.optim, name)(theirs, lr=0.05, **kwargs)
    for _ in range(3):
        step(reference, source, theirs, values)
    ours = [torch.tensor(p.detach().numpy()).requires_grad_() for p in theirs]
    target = getattr(optim, name)(ours, lr=9.0, **kwargs)
    target.load_state_dict(moved(source.state_dict(), torch))
    for _ in range(3):
        step(reference, source, theirs, values)
        step(torch, target, ours, values)
    close(ours, theirs, 1e-4, 1e-5)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_go_on_alike(copied):
    p = torch.ones(3, requires_grad=True)
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = torch.ones(3)
    optimizer.step()
    twin = copied(optimizer)
    q = twin.param_groups[0]["params"][0]
    p.grad, q.grad = torch.ones(3), torch.ones(3)
    optimizer.step()
    twin.step()
    assert q is not p and q.tolist() == p.tolist()


def test_old_checkpoints():
    p = torch.ones(3, requires_grad=True)
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = torch.ones(3)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    state["state"][0]["step"] = 7
    for key in ("maximize", "foreach", "capturable", "amsgrad", "fused"):
        del state["param_groups"][0][key]
    optimizer.load_state_dict(state)
    optimizer.step()
    step = optimizer.state[p]["step"]
    assert step.item() == 8 and step.dtype is torch.float32


def test_hooks():
    events = []
    p = torch.ones(1, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.1)

    def note(what, result=None):
        def hook(*args):
            events.append(what)
            return result

        return hook

    handles = [
        optimizer.register_step_pre_hook(note("pre")),
        optimizer.register_step_post_hook(note("post")),
        optim.optimizer.register_optimizer_step_pre_hook(note("global pre")),
        optim.optimizer.register_optimizer_step_post_hook(note("global post")),
        optimizer.register_state_dict_pre_hook(note("save")),
        optimizer.register_state_dict_post_hook(note("saved", {"state": {}, "param_groups": 0})),
        optimizer.register_load_state_dict_pre_hook(note("load")),
        optimizer.register_load_state_dict_pre_hook(note("load first"), prepend=True),
        optimizer.register_load_state_dict_post_hook(note("loaded")),
    ]
    optimizer.step()
    assert events == ["global pre", "pre", "post", "global post"]
    events.clear()
    assert optimizer.state_dict()["param_groups"] == 0
    handles.pop(5).remove()
    optimizer.load_state_dict(optimizer.state_dict())
    assert events == ["save", "saved", "save", "load first", "load", "loaded"]
    for handle in handles:
        handle.remove()
    events.clear()
    optimizer.step()
    assert events == []


def test_own_optimizer():
    class Plain(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"])
                    self.state[p]["seen"] = self.state[p].get("seen", 0) + 1

    p = torch.ones(2, requires_grad=True)
    optimizer = Plain([p], 0.5)
    calls = []
    optimizer.register_step_post_hook(lambda *args: calls.append(args))
    p.grad = torch.ones(2)
    optimizer.step()
    assert p.tolist() == [0.5, 0.5] and len(calls) == 1
    assert optimizer.state_dict()["state"] == {0: {"seen": 1}}


# ---- groups and errors ---------------------------------------------------------------------------


def test_groups():
    for lib, module in LIBRARIES:
        a, b = lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True)
        optimizer = module.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.25)
        optimizer.add_param_group({"params": lib.ones(2, requires_grad=True), "momentum": 0.5})
        a.grad, b.grad = lib.ones(1), lib.ones(1)
        optimizer.step()
        assert (a.item(), b.item()) == (0.75, 0.5) and len(optimizer.param_groups) == 3
        named = module.SGD([("w", lib.ones(1)), ("b", lib.ones(1))])
        assert named.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]


ERRORS = [
    lambda lib, m: m.SGD([]),
    lambda lib, m: m.SGD(lib.ones(1)),
    lambda lib, m: m.SGD([1]),
    lambda lib, m: m.SGD([{"params": {lib.ones(1)}}]),
    lambda lib, m: m.SGD([lib.ones(1, requires_grad=True) * 2]),
    lambda lib, m: m.SGD([("a", lib.ones(1)), lib.ones(1)]),
    lambda lib, m: m.SGD([lib.ones(1)], lr=-1),
    lambda lib, m: m.SGD([lib.ones(1)], lr=lib.ones(2)),
    lambda lib, m: m.SGD([lib.ones(1)], momentum=-1),
    lambda lib, m: m.SGD([lib.ones(1)], weight_decay=-1),
    lambda lib, m: m.SGD([lib.ones(1)], nesterov=True),
    lambda lib, m: m.SGD([lib.ones(1)], fused=True, foreach=True),
    lambda lib, m: m.SGD([lib.ones(1)], fused=True, differentiable=True),
    lambda lib, m: m.SGD([lib.ones(1)]).add_param_group([lib.ones(1)]),
    lambda lib, m: m.SGD([lib.ones(1)]).add_param_group({"params": [("n", lib.ones(1))]}),
    lambda lib, m: m.SGD([{"params": [x := lib.ones(1)]}, {"params": [x]}]),
    lambda lib, m: m.SGD([lib.ones(1)]).load_state_dict({"param_groups": [], "state": {}}),
    lambda lib, m: m.SGD([lib.ones(1)]).load_state_dict({"param_groups": [{"params": [0, 1]}], "state": {}}),
    lambda lib, m: m.Optimizer([lib.ones(1)], {}).step(),
    lambda lib, m: m.Adam([lib.ones(1)], betas=(1.0, 0.9)),
    lambda lib, m: m.Adam([lib.ones(1)], betas=(0.9, -1.0)),
    lambda lib, m: m.Adam([lib.ones(1)], betas=(0.9, 0)),
    lambda lib, m: m.Adam([lib.ones(1)], betas=(lib.tensor(0.9), lib.ones(2) / 2)),
    lambda lib, m: m.Adam([lib.ones(1)], eps=-1),
    lambda lib, m: m.Adam([lib.ones(1)], lr=lib.tensor(0.1), foreach=True),
    lambda lib, m: m.Adadelta([lib.ones(1)], rho=2),
    lambda lib, m: m.Adagrad([lib.ones(1)], lr_decay=-1),
    lambda lib, m: m.Adagrad([lib.ones(1)], initial_accumulator_value=-1),
    lambda lib, m: m.NAdam([lib.ones(1)], momentum_decay=-1),
    lambda lib, m: m.RMSprop([lib.ones(1)], alpha=-1),
    lambda lib, m: m.Rprop([lib.ones(1)], etas=(1, 2)),
    lambda lib, m: m.Adafactor([lib.ones(1)], d=0.5),
    lambda lib, m: m.Adafactor([lib.ones(1)], beta2_decay=1),
    lambda lib, m: m.Adafactor([lib.ones(1)], eps=(-1, 1)),
    lambda lib, m: m.Muon([lib.ones(1)]),
    lambda lib, m: m.Muon([lib.ones(1, 1)], adjust_lr_fn="no"),
    lambda lib, m: m.LBFGS([{"params": lib.ones(1)}, {"params": lib.ones(1)}]),
    lambda lib, m: m.SparseAdam([lib.ones(1)], lr=0.0),
    lambda lib, m: m.SparseAdam([lib.ones(1, dtype=lib.complex64)]),
    lambda lib, m: stepped(lib, m.SparseAdam),
    lambda lib, m: stepped(lib, m.Adafactor, "complex64"),
    lambda lib, m: m.lr_scheduler.StepLR(3, 1),
]


def stepped(lib, cls, dtype="float32"):
    """A step with dense gradients of ones."""
    p = lib.ones(2, dtype=getattr(lib, dtype)).requires_grad_()
    p.grad = lib.ones_like(p)
    cls([p]).step()


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(i):
    with pytest.raises(Exception) as expected:
        ERRORS[i](reference, reference.optim)
    with pytest.raises(expected.type) as found:
        ERRORS[i](torch, optim)
    assert str(found.value) == str(expected.value)


def test_duplicates_are_warned_of():
    p = torch.ones(1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p])


def test_names_and_orders():
    """What is printed of several groups, the order of states, the names of classes."""

    def program(t):
        ps = [t.nn.Parameter(t.ones(2)) for _ in range(2)]
        groups = t.optim.SGD([{"params": [p], "lr": i + 1.0} for i, p in enumerate(ps)])
        lbfgs = t.optim.LBFGS(ps[:1], max_iter=4)

        def closure():
            lbfgs.zero_grad()
            loss = (ps[0] ** 4).sum()
            loss.backward()
            return loss

        for _ in range(2):
            lbfgs.step(closure)
        schedule = t.optim.lr_scheduler.StepLR(groups, 1)
        old = t.optim.lr_scheduler._LRScheduler
        return [
            repr(groups),
            list(lbfgs.state_dict()["state"][0]),
            isinstance(schedule, old),
            issubclass(old, type(schedule).__mro__[-2]),
        ]

    agree(program)


def test_a_differentiable_step_of_averaged_descent():
    def program(t):
        w = t.tensor([1.0, 2.0], requires_grad=True)
        optimizer = t.optim.ASGD([t.zeros(2, requires_grad=True)], lr=0.1, differentiable=True)
        p = w * 1
        optimizer.param_groups[0]["params"] = [p]
        for _ in range(2):
            p.grad = w * 2
            optimizer.step()
        p.sum().backward()
        return [w.grad, p]

    agree(program)


def test_lbfgs_without_curvature():
    """Where no step is worth remembering, the direction is the gradient's."""

    def run(t):
        p = t.nn.Parameter(t.tensor([1.0, -2.0]))
        optimizer = t.optim.LBFGS([p], lr=0.1, max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = (3 * p).sum()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
        return p.detach().numpy()

    reference = pytest.importorskip("torch")
    np.testing.assert_allclose(run(torch), run(reference), rtol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_parameters_of_integers_are_refused(name):
    """A step would lose its fractions; each of PyTorch's kernels has words of its own."""
    for lib, optimizers in LIBRARIES:
        w = lib.tensor([3, 4])
        w.grad = lib.ones_like(w)
        with pytest.raises(RuntimeError):
            getattr(optimizers, name)([w], lr=0.1).step()
        assert w.tolist() == [3, 4]


@pytest.mark.parametrize("name", ["ASGD", "NAdam", "Adam"])
def test_numbers_of_the_state_have_the_default_dtype(name):
    """float64 where that is the default, so that a state moves between both libraries as it is."""
    found = []
    for lib, optimizers in LIBRARIES:
        lib.set_default_dtype(lib.float64)
        try:
            w = lib.ones(2, requires_grad=True)
            optimizer = getattr(optimizers, name)([w])
            for _ in range(3):
                w.grad = lib.full((2,), 0.3)
                optimizer.step()
        finally:
            lib.set_default_dtype(lib.float32)
        found.append({k: (str(x.dtype), x.tolist()) for k, x in sorted(optimizer.state[w].items())})
    assert {k: x[0] for k, x in found[0].items()} == {k: x[0] for k, x in found[1].items()}
    for k, (_, x) in found[0].items():
        np.testing.assert_allclose(x, found[1][k][1], rtol=1e-8, err_msg=k)


# ---- what other packages import ------------------------------------------------------------------


def test_line_search_by_itself():
    def program(t):
        module = importlib.import_module(("functorch_core.optim" if t is torch else "torch.optim") + ".lbfgs")
        found = []
        for power, first, options in ((2, 1.0, {}), (4, 0.01, {"c2": 0.1}), (2, 30.0, {"c1": 0.4, "max_ls": 3})):
            start, d = t.tensor([2.0, -1.0]).double(), t.tensor([-1.0, 0.3]).double()

            def evaluate(x, step, direction, power=power):
                point = (x + step * direction).requires_grad_()
                loss = (point**power).sum() + point.sin().sum()
                return float(loss), t.autograd.grad(loss, point)[0]

            f, g = evaluate(start, 0.0, d)
            loss, grad, step, used = module._strong_wolfe(evaluate, start, first, d, f, g, g.dot(d), **options)
            found.append((loss, grad, float(step), used))
        one = lambda *numbers: [t.tensor(float(n)) for n in numbers]  # noqa: E731
        found.append(float(module._cubic_interpolate(*one(0, 1, -1, 2, 1.5, 2))))
        found.append(float(module._cubic_interpolate(*one(2, 1.5, 2, 0, 1, -1), bounds=(1.0, 3.0))))
        found.append(float(module._cubic_interpolate(*one(0, 0, 1, 2, 2, 1))))
        return found

    agree(program)


def test_questions_of_optimizers_written_after_pytorchs():
    def program(t):
        module = importlib.import_module(("functorch_core.optim" if t is torch else "torch.optim") + ".optimizer")
        p, z = t.nn.Parameter(t.ones(2)), t.ones(2, dtype=t.complex64)
        choose, lists = module._default_to_fused_or_foreach, ([z, p.data], [z + 1, p.data])
        module._view_as_real(*lists)

        class Plain(module.Optimizer):
            step = module._use_grad_for_differentiable(lambda self: t.is_grad_enabled())

        assert module.ParamsT and all(getattr(module, f"_{name}_doc") for name in "params foreach fused".split())
        return (
            [choose([p, None], d, use_fused=f) for d in (False, True) for f in (False, True)],
            choose([z], False, True),
            choose([], False),
            module._get_capturable_supported_devices(),
            module._get_capturable_supported_devices(supports_xla=False),
            [[tuple(x.shape) for x in column] for column in lists],
            str(module._get_scalar_dtype()),
            module._get_value(t.tensor(2.0)),
            module._to_scalar(t.ones(1)).dim(),
            module._disable_dynamo_if_unsupported(single_tensor_fn=None)(lambda x: x + 1)(1),
            [Plain([p], {"differentiable": d}).step() for d in (False, True)],
        )

    agree(program)
