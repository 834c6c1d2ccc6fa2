"""Learning rate schedulers and averaged models against PyTorch's."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from functorch_core import nn, optim, torch

reference = pytest.importorskip("torch")
LIBRARIES = (torch, optim), (reference, reference.optim)
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of", "ignore:The epoch parameter")


class Halving:
    """A function with fields, which are saved."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, epoch):
        return self.rate**epoch


def schedulers(m):
    """name -> the schedulers of a library, as functions of the optimizer."""
    s = m.lr_scheduler
    return {
        "lambda": lambda o: s.LambdaLR(o, lambda e: 0.9**e),
        "lambdas": lambda o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
        "object": lambda o: s.LambdaLR(o, Halving(0.5)),
        "multiplicative": lambda o: s.MultiplicativeLR(o, lambda e: 0.95),
        "step": lambda o: s.StepLR(o, 3, 0.5),
        "multi step": lambda o: s.MultiStepLR(o, [2, 5, 5, 9]),
        "constant": lambda o: s.ConstantLR(o, 0.25, 4),
        "linear": lambda o: s.LinearLR(o, 0.2, 0.8, 6),
        "exponential": lambda o: s.ExponentialLR(o, 0.9),
        "polynomial": lambda o: s.PolynomialLR(o, 8, 2.0),
        "cosine": lambda o: s.CosineAnnealingLR(o, 5, 0.01),
        "restarts": lambda o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
        "restarts alike": lambda o: s.CosineAnnealingWarmRestarts(o, 4),
        "cyclic": lambda o: s.CyclicLR(o, 0.01, 0.1, 3, 5),
        "cyclic 2": lambda o: s.CyclicLR(o, 0.01, [0.1, 0.2], 3, mode="triangular2"),
        "cyclic exp": lambda o: s.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9),
        "cyclic own": lambda o: s.CyclicLR(o, 0.01, 0.1, 3, scale_fn=Halving(0.7)),
        "one cycle": lambda o: s.OneCycleLR(o, 0.5, total_steps=16),
        "one cycle linear": lambda o: s.OneCycleLR(
            o, [0.5, 0.4], epochs=4, steps_per_epoch=4, anneal_strategy="linear", three_phase=True
        ),
        "one cycle without momentum": lambda o: s.OneCycleLR(o, 0.5, 16, cycle_momentum=False),
        "sequential": lambda o: s.SequentialLR(
            o, [s.LinearLR(o, 0.5, total_iters=3), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [4, 8]
        ),
        "chained": lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.StepLR(o, 4)]),
        "nested": lambda o: s.SequentialLR(
            o, [s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)]), s.CosineAnnealingLR(o, 5)], [5]
        ),
        "swa": lambda o: m.swa_utils.SWALR(o, 0.05, 5),
        "swa linear": lambda o: m.swa_utils.SWALR(o, [0.05, 0.5], 4, "linear"),
        "swa at once": lambda o: m.swa_utils.SWALR(o, 0.05, 0),
    }


NAMES = list(schedulers(optim))
OPTIMIZERS = [("SGD", {"momentum": 0.9}), ("Adam", {})]


def build(lib, m, optimizer="SGD", **kwargs):
    """An optimizer with two groups."""
    params = [lib.ones(2, requires_grad=True) for _ in range(2)]
    groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.3}]
    return getattr(m, optimizer)(groups, lr=0.1, **(kwargs or {"momentum": 0.9}))


def read(optimizer, scheduler):
    """Everything a scheduler sets."""
    found = []
    for group in optimizer.param_groups:
        found += [float(group["lr"]), float(group.get("momentum", 0)), *group.get("betas", ())]
    return found + [float(x) for x in scheduler.get_last_lr()]


def run(optimizer, scheduler, steps=12, args=()):
    """What a scheduler sets over some epochs."""
    history = [read(optimizer, scheduler)]
    for i in range(steps):
        optimizer.step()
        scheduler.step(*args[i : i + 1])
        history.append(read(optimizer, scheduler))
    return history


@pytest.mark.parametrize("optimizer, kwargs", OPTIMIZERS)
@pytest.mark.parametrize("name", NAMES)
def test_rates(name, optimizer, kwargs):
    found = []
    for lib, m in LIBRARIES:
        o = build(lib, m, optimizer, **(kwargs or {"eps": 1e-8}))
        found.append(run(o, schedulers(m)[name](o)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_state_dict(name):
    found, states = [], []
    for lib, m in LIBRARIES:
        o = build(lib, m)
        s = schedulers(m)[name](o)
        run(o, s, 5)
        states.append(s.state_dict())
        o = build(lib, m)
        fresh = schedulers(m)[name](o)
        fresh.load_state_dict(copy.deepcopy(s.state_dict()))
        o.load_state_dict(s.optimizer.state_dict())
        found.append(run(o, fresh, 5))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    assert kinds(states[0]) == kinds(states[1])


def kinds(x):
    """The keys and kinds of values of a state."""
    if isinstance(x, dict):
        return {k: kinds(v) for k, v in x.items()}
    return [kinds(v) for v in x] if isinstance(x, list) else type(x).__name__


@pytest.mark.parametrize(
    "name", ["step", "multi step", "constant", "linear", "exponential", "polynomial", "cosine", "restarts", "lambda"]
)
def test_given_epochs(name):
    found = []
    for lib, m in LIBRARIES:
        o = build(lib, m)
        found.append(run(o, schedulers(m)[name](o), 6, [3, 0, 1, 7, 7, 9]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_resuming():
    found = []
    for lib, m in LIBRARIES:
        o = build(lib, m)
        run(o, m.lr_scheduler.CosineAnnealingLR(o, 9), 4)
        found.append(run(o, m.lr_scheduler.CosineAnnealingLR(o, 9, last_epoch=4), 4))
        with pytest.raises(KeyError, match="param 'initial_lr' is not specified"):
            m.lr_scheduler.StepLR(build(lib, m), 3, last_epoch=1)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"patience": 1},
        {"mode": "max", "factor": 0.5, "patience": 0, "threshold_mode": "abs"},
        {"patience": 0, "cooldown": 2, "min_lr": [0.01, 0.05]},
        {"threshold": 0.2, "patience": 1},
        {"mode": "max", "patience": 1, "threshold": 0.1},
    ],
    ids=str,
)
def test_plateau(kwargs):
    metrics = [1.0, 0.9, 0.95, 0.95, 0.95, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]
    found = []
    for lib, m in LIBRARIES:
        o = build(lib, m)
        s = m.lr_scheduler.ReduceLROnPlateau(o, **kwargs)
        found.append((run(o, s, 12, [lib.tensor(x) for x in metrics]), kinds(s.state_dict())))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    assert found[0][1] == found[1][1]


def test_learning_rate_tensor_is_set_in_place():
    lr = torch.tensor(0.5)
    o = optim.SGD([torch.ones(1, requires_grad=True)], lr=lr)
    s = optim.lr_scheduler.ExponentialLR(o, 0.5)
    o.step()
    s.step()
    assert o.param_groups[0]["lr"] is lr and lr.item() == 0.25 and s.get_last_lr()[0].item() == 0.25


def test_warnings():
    for lib, m in LIBRARIES:
        o = build(lib, m)
        s = m.lr_scheduler.StepLR(o, 3)
        with pytest.warns(UserWarning, match="before `optimizer.step"):
            s.step()
        with pytest.warns(UserWarning, match="get_last_lr"):
            s.get_lr()
        o.step = lambda: None
        s = m.lr_scheduler.StepLR(build(lib, m), 3)
        s.optimizer.step = lambda: None
        with pytest.warns(UserWarning, match="has been overridden"):
            s.step()


ERRORS = [
    lambda s, o: s.LambdaLR(o, [len]),
    lambda s, o: s.MultiplicativeLR(o, 3),
    lambda s, o: s.ConstantLR(o, 2),
    lambda s, o: s.LinearLR(o, 0),
    lambda s, o: s.LinearLR(o, 0.5, 2),
    lambda s, o: s.SequentialLR(o, [], []),
    lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
    lambda s, o: s.SequentialLR(o, [o], []),
    lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    lambda s, o: s.ChainedScheduler([]),
    lambda s, o: s.ReduceLROnPlateau(o, factor=1),
    lambda s, o: s.ReduceLROnPlateau(o, mode="no"),
    lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="no"),
    lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1]),
    lambda s, o: s.ReduceLROnPlateau(1),
    lambda s, o: s.CyclicLR(o, [1], 2),
    lambda s, o: s.CyclicLR(o, 1, 2, mode="no"),
    lambda s, o: s.CyclicLR(1, 1, 2),
    lambda s, o: s.OneCycleLR(o, 1),
    lambda s, o: s.OneCycleLR(o, 1, 0),
    lambda s, o: s.OneCycleLR(o, 1, epochs=0, steps_per_epoch=1),
    lambda s, o: s.OneCycleLR(o, 1, epochs=1, steps_per_epoch=1.0),
    lambda s, o: s.OneCycleLR(o, 1, 5, pct_start=2),
    lambda s, o: s.OneCycleLR(o, 1, 5, anneal_strategy="no"),
    lambda s, o: [step() for step in [s.OneCycleLR(o, 1, 2).step] * 4],
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, eta_min="x"),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 1).step(-1),
    lambda s, o: s.LRScheduler(o),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(i):
    messages = []
    for lib, m in LIBRARIES:
        with pytest.raises(Exception) as found:
            ERRORS[i](m.lr_scheduler, build(lib, m))
        messages.append((found.type, str(found.value)))
    assert messages[0] == messages[1]


def test_no_momentum_to_cycle():
    o = optim.Adagrad([torch.ones(1, requires_grad=True)])
    s = optim.lr_scheduler
    for make in (lambda: s.CyclicLR(o, 0.1, 1), lambda: s.OneCycleLR(o, 1.0, 5)):
        with pytest.raises(ValueError, match="must support momentum or beta1"):
            make()


def test_pickling():
    for name in ("step", "cosine", "restarts", "polynomial"):
        o = build(torch, optim)
        s = schedulers(optim)[name](o)
        run(o, s, 3)
        state = pickle.loads(pickle.dumps(s.state_dict()))
        assert state["last_epoch"] == 3


# ---- averaged models -----------------------------------------------------------------------------


def model(lib, values):
    """A small model with these parameters."""
    m = lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.BatchNorm1d(2))
    with lib.no_grad():
        for p, v in zip(m.parameters(), values):
            p.copy_(lib.tensor(v))
    return m


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"multi_avg_fn": ("get_ema_multi_avg_fn", 0.9)},
        {"avg_fn": ("get_ema_avg_fn", 0.9)},
        {"multi_avg_fn": ("get_swa_multi_avg_fn",)},
        {"avg_fn": ("get_swa_avg_fn",)},
    ],
    ids=str,
)
def test_averaged_model(how, use_buffers):
    if use_buffers and "get_swa_multi_avg_fn" in str(how):
        pytest.skip("PyTorch cannot average the integers among the buffers")
    rng = np.random.default_rng(0)
    rounds = [[rng.standard_normal(s).astype(np.float32) for s in ((2, 3), (2,), (2,), (2,))] for _ in range(4)]
    found = []
    for lib, m in LIBRARIES:
        utils = m.swa_utils
        kwargs = {k: getattr(utils, name)(*args) for k, (name, *args) in how.items()}
        averaged = utils.AveragedModel(model(lib, rounds[0]), use_buffers=use_buffers, **kwargs)
        for values in rounds:
            current = model(lib, values)
            current(lib.tensor(values[0]))  # moves the running statistics
            averaged.update_parameters(current)
        state = averaged.state_dict()
        found.append(({k: v.tolist() for k, v in state.items()}, list(state)))
    assert found[0][1] == found[1][1]
    for key, expected in found[1][0].items():
        np.testing.assert_allclose(found[0][0][key], expected, rtol=1e-5, atol=1e-6)


def test_averaged_model_checks():
    utils = optim.swa_utils
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        utils.AveragedModel(nn.Linear(1, 1), avg_fn=len, multi_avg_fn=len)
    for make in (utils.get_ema_avg_fn, utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="Invalid decay value 2"):
            make(2)


def test_update_bn():
    x = np.random.default_rng(0).standard_normal((10, 3)).astype(np.float32)
    values = [np.ones(s, np.float32) for s in ((2, 3), (2,), (2,), (2,))]
    found = []
    for lib, m in LIBRARIES:
        net = model(lib, values).eval()
        data = lib.utils.data
        loader = data.DataLoader(data.TensorDataset(lib.tensor(x)), 5)
        m.swa_utils.update_bn(loader, net)
        assert not net.training and net[1].momentum == 0.1
        found.append(net[1].running_mean.tolist() + net[1].running_var.tolist())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_no_warnings_in_the_right_order():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        o = build(torch, optim)
        s = optim.lr_scheduler.OneCycleLR(o, 0.5, 10)
        for _ in range(5):
            o.step()
            s.step()


def test_state_of_a_cycle_saved_before_there_were_names_of_curves():
    def rates(t, optim):
        optimizer = optim.SGD([t.nn.Parameter(t.ones(1))], lr=1.0, momentum=0.9)
        scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2.0, total_steps=6)
        del scheduler._anneal_func_type
        state = {**scheduler.state_dict(), "anneal_func": optim.lr_scheduler.OneCycleLR._annealing_linear}
        scheduler.load_state_dict(state)
        seen = []
        for _ in range(5):
            optimizer.step()
            scheduler.step()
            seen.append(scheduler.get_last_lr()[0])
        return seen

    found, expected = (rates(*library) for library in LIBRARIES)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_loaded_curves_are_the_curves():
    def parts(m):
        optimizer = m.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        first, second = (m.swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_strategy=how) for how in ("cos", "linear"))
        second.load_state_dict(first.state_dict())
        return first.anneal_func, second.anneal_func

    first, second = parts(optim)
    assert first is second
