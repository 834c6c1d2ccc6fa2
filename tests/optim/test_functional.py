"""The algorithms as pure functions: against torch.optim, and under transforms."""

import numpy as np
import pytest
from functorch_core.optim import functional

import functorch_core as fc

reference = pytest.importorskip("torch")

CASES = [
    ("sgd", "SGD", {"lr": 0.1}),
    ("sgd", "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("adam", "Adam", {"lr": 0.1}),
    ("adam", "Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("adamw", "AdamW", {"lr": 0.1}),
    ("adamax", "Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    ("nadam", "NAdam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("radam", "RAdam", {"lr": 0.1}),
    ("adagrad", "Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("adadelta", "Adadelta", {"lr": 0.5}),
    ("rmsprop", "RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True}),
    ("rprop", "Rprop", {"lr": 0.1}),
    ("asgd", "ASGD", {"lr": 0.1, "t0": 3.0}),
    ("adafactor", "Adafactor", {"lr": 0.1, "weight_decay": 0.1}),
]
INIT = ("momentum", "amsgrad", "initial_accumulator_value", "centered")
rng = np.random.default_rng(0)
START = {"w": rng.standard_normal((4, 3)).astype(np.float32), "b": rng.standard_normal(3).astype(np.float32)}
TARGET = rng.standard_normal(3).astype(np.float32)


def loss(params, x):
    """A small regression."""
    return fc.sum(fc.square(x @ params["w"] + params["b"] - TARGET))


def by_reference(cls, hyper, steps):
    """The parameters after some steps of torch.optim."""
    w, b = (reference.tensor(START[k], requires_grad=True) for k in ("w", "b"))
    optimizer = getattr(reference.optim, cls)([w, b], **hyper)
    x, target = reference.ones(2, 4), reference.tensor(TARGET)
    for _ in range(steps):
        optimizer.zero_grad()
        ((x @ w + b - target) ** 2).sum().backward()
        optimizer.step()
    return {"w": w.detach().numpy(), "b": b.detach().numpy()}


def initial(name, hyper):
    """Parameters and state before the first step."""
    params = {k: fc.asarray(v) for k, v in START.items()}
    options = {k: v for k, v in hyper.items() if k in INIT or (k == "lr" and name in ("rprop", "asgd"))}
    return params, getattr(functional, name).init(params, **options)


@pytest.mark.parametrize("name, cls, hyper", CASES)
def test_against_pytorch(name, cls, hyper):
    params, state = initial(name, hyper)
    x = fc.ones((2, 4))
    for _ in range(5):
        grads = fc.grad(loss)(params, x)
        params, state = getattr(functional, name).update(grads, state, params, **hyper)
    assert float(state["step"]) == 5
    for key, expected in by_reference(cls, hyper, 5).items():
        np.testing.assert_allclose(params[key], expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name, cls, hyper", CASES)
def test_inside_jit_and_scan(name, cls, hyper):
    x = fc.ones((2, 4))
    hyper = dict(hyper)
    lr = fc.asarray(hyper.pop("lr"))

    def step(carry, _):
        params, state = carry
        grads = fc.grad(loss)(params, x)
        return getattr(functional, name).update(grads, state, params, lr=lr, **hyper), None

    start = initial(name, {**hyper, "lr": float(lr)})
    (params, _), _ = fc.jit(lambda carry: fc.scan(step, carry, None, length=4))(start)
    for key, expected in by_reference(cls, {**hyper, "lr": float(lr)}, 4).items():
        np.testing.assert_allclose(params[key], expected, rtol=2e-5, atol=2e-5)


def test_muon():
    params = {"w": fc.asarray(START["w"])}
    state = functional.muon.init(params)
    w = reference.tensor(START["w"], requires_grad=True)
    optimizer = reference.optim.Muon([w], lr=0.1)
    for _ in range(3):
        grads = {"w": params["w"] * 2}
        params, state = functional.muon.update(grads, state, params, lr=0.1)
        w.grad = w.detach() * 2
        optimizer.step()
    np.testing.assert_allclose(params["w"], w.detach().numpy(), rtol=2e-5, atol=2e-5)


def test_batched_learning_rates():
    """A search over learning rates: vmap over whole steps."""
    grads, params = fc.ones(3), fc.zeros(3)
    state = functional.adam.init(params)
    rates = fc.asarray([0.1, 0.2, 0.4])
    new, _ = fc.vmap(lambda lr: functional.adam.update(grads, state, params, lr=lr))(rates)
    np.testing.assert_allclose(new, -np.repeat([[0.1], [0.2], [0.4]], 3, 1), rtol=1e-5)


def test_derivative_by_the_learning_rate():
    grads, params = fc.asarray([1.0, 2.0]), fc.asarray([3.0, 4.0])
    state = functional.sgd.init(params)
    slope = fc.grad(lambda lr: fc.sum(functional.sgd.update(grads, state, params, lr=lr)[0]))
    assert float(slope(fc.asarray(0.1))) == pytest.approx(-3.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
@pytest.mark.parametrize("name", ["adam", "adafactor", "rprop", "sgd"])
def test_dtypes_and_shapes(name, dtype, shape):
    if name == "adafactor" and (dtype == "complex64" or 0 in shape):
        pytest.skip("not defined")
    algorithm = getattr(functional, name)
    params = [fc.full(shape, 1.5, dtype=getattr(fc, dtype))]
    state = algorithm.init(params)
    for _ in range(2):
        params, state = algorithm.update(params, state, params, lr=0.25)
    assert params[0].dtype == np.dtype(getattr(fc, dtype)) and params[0].shape == shape
    assert np.isfinite(np.asarray(params[0]).astype(np.complex128)).all()


def test_schedule_traces_once():
    params, state = initial("adam", {})
    grads = {k: fc.ones_like(v) for k, v in params.items()}
    functional.adam.update(grads, state, params, lr=0.5)
    n = len(functional.adam.updates)
    for i in range(5):
        hyper = {"lr": 0.1 * i, "betas": (0.8, 0.9 + i / 99)}
        params, state = functional.adam.update(grads, state, params, **hyper)
    assert len(functional.adam.updates) == n


def test_errors():
    params, state = initial("adam", {})
    with pytest.raises(TypeError, match="unexpected keyword argument 'momentum'"):
        functional.adam.update(params, state, params, momentum=0.9)
    with pytest.raises(TypeError, match="'beta' is no hyperparameter of adam"):
        functional.adam.init(params, beta=1)
    with pytest.raises(ValueError):
        functional.adam.update({"w": params["w"]}, state, params)
    with pytest.raises(ValueError, match="must be a 2D matrix"):
        functional.muon.update([fc.ones(3)], functional.muon.init([fc.ones(3)]), [fc.ones(3)])
