"""Functional optimizers against optax's values (see optax_values.py), and against the classes of torch.optim."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import nn, optax, torch

from . import optax_values as cases

saved = np.load(cases.FILE)
WANTED = {str(name): saved[str(i)] for i, name in enumerate(saved["names"])}
# optax computes 1 - b2**count in float32, where 1 - 0.999 has four digits; here it is float64.
NEAR = {"rtol": 1e-4, "atol": 1e-5}
NAMES = {"optax": optax, "jax": fc, "jnp": jnp}


@pytest.mark.parametrize("case", cases.OPTIMIZERS)
def test_optimizers_give_optax_values(case):
    found = cases.train(eval(case, NAMES), fc.asarray, optax.apply_updates)
    for i, x in enumerate(found):
        np.testing.assert_allclose(x, WANTED[f"{case} {i}"], **NEAR)


@pytest.mark.parametrize("case", cases.OPTIMIZERS)
def test_optimizers_in_compiled_loops(case):
    """In jit and scan, with traced counts, the values are those of eager steps."""
    optimizer = eval(case, NAMES)
    params = {k: fc.asarray(x) for k, x in cases.PARAMS.items()}
    grads = fc.tree.map(lambda *g: fc.stack([fc.asarray(x) for x in g]), *cases.GRADS)

    def step(carry, g):
        params, state = carry
        updates, state = optimizer.update(g, state, params)
        return (optax.apply_updates(params, updates), state), None

    (params, _), _ = fc.jit(lambda carry, grads: fc.scan(step, carry, grads))((params, optimizer.init(params)), grads)
    for i, k in enumerate(sorted(params)):
        np.testing.assert_allclose(np.asarray(params[k]), WANTED[f"{case} {i}"], **NEAR)


@pytest.mark.parametrize("case", cases.SCHEDULES)
def test_schedules_give_optax_values(case):
    schedule = eval(case, NAMES)
    found = [float(schedule(count)) for count in range(15)]
    np.testing.assert_allclose(found, WANTED[case], rtol=1e-5, atol=1e-6)
    traced = fc.vmap(lambda count: fc.asarray(schedule(count)) + fc.zeros(()) * count)(fc.arange(15))
    np.testing.assert_allclose(np.asarray(traced), WANTED[case], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", cases.LOSSES)
def test_losses_give_optax_values(case):
    data = {k: fc.asarray(x) for k, x in cases.DATA.items()}
    np.testing.assert_allclose(np.asarray(eval(case, {**NAMES, **data})), WANTED[case], rtol=2e-5, atol=1e-6)


# ---- against the classes -------------------------------------------------------------------------

CLASSES = [
    ("sgd", "SGD", {"lr": 0.1}),
    ("sgd", "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("adam", "Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    ("adamw", "AdamW", {"lr": 0.1}),
    ("adamax", "Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    ("nadam", "NAdam", {"lr": 0.1, "momentum_decay": 0.1}),
    ("radam", "RAdam", {"lr": 0.1, "betas": (0.8, 0.9)}),
    ("rmsprop", "RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True}),
    ("rprop", "Rprop", {"lr": 0.1}),
    ("adagrad", "Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("adadelta", "Adadelta", {"lr": 0.5, "weight_decay": 0.1}),
    ("asgd", "ASGD", {"lr": 0.1, "t0": 3.0}),
    ("adafactor", "Adafactor", {"lr": 0.1, "weight_decay": 0.1}),
]


def stepped(reference, name: str, options: dict) -> list[np.ndarray]:
    """The parameters after steps of a class, here or in real PyTorch."""
    params = [reference.nn.Parameter(reference.tensor(x)) for _, x in sorted(cases.PARAMS.items())]
    optimizer = getattr(reference.optim, name)(params, **options)
    for grads in cases.GRADS:
        for p, (_, g) in zip(params, sorted(grads.items())):
            p.grad = reference.tensor(g)
        optimizer.step()
    return [p.detach().numpy() for p in params]


@pytest.mark.parametrize("name, cls, options", CLASSES)
def test_rules_of_pytorch_are_those_of_the_classes(name, cls, options):
    found = cases.train(getattr(optax.pytorch, name)(**options), fc.asarray, optax.apply_updates)
    wanted = stepped(torch, cls, options)
    real = stepped(pytest.importorskip("torch"), cls, options)
    for x, y, z in zip(found, wanted, real):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=2e-6)
        np.testing.assert_allclose(x, z, rtol=2e-5, atol=5e-6)


def test_sparse_adam_and_muon_are_there():
    found = cases.train(optax.pytorch.sparse_adam(lr=0.1), fc.asarray, optax.apply_updates)
    wanted = stepped(torch, "Adam", {"lr": 0.1})
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4)
    params = {"w": fc.asarray(cases.PARAMS["w"])}
    tx = optax.pytorch.muon(lr=0.1)
    assert tx.update(params, tx.init(params), params)[0]["w"].shape == (4, 3)


def test_schedules_are_rates_of_pytorchs_rules():
    schedule = optax.linear_schedule(0.1, 0.0, 5)
    found = cases.train(optax.pytorch.sgd(lr=schedule), fc.asarray, optax.apply_updates)
    wanted = cases.train(optax.sgd(schedule), fc.asarray, optax.apply_updates)
    for x, y in zip(found, wanted):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


# ---- states, trees, errors -----------------------------------------------------------------------


def test_states_are_saved_and_loaded():
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.1))
    params = {k: fc.asarray(x) for k, x in cases.PARAMS.items()}
    _, state = optimizer.update(params, optimizer.init(params), params)
    again = pickle.loads(pickle.dumps(state))
    assert fc.tree.structure(again) == fc.tree.structure(state)
    a, b = (optimizer.update(params, s, params)[0]["w"] for s in (state, again))
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_trees_of_tensors_give_tensors():
    params = {"w": torch.tensor(cases.PARAMS["w"])}
    optimizer = optax.adamw(0.1)
    state = optimizer.init(params)
    assert isinstance(state[0].mu["w"], torch.Tensor)
    updates, state = optimizer.update({"w": torch.tensor(cases.GRADS[0]["w"])}, state, params)
    new = optax.apply_updates(params, updates)
    assert isinstance(new["w"], torch.Tensor)
    arrays = {"w": fc.asarray(cases.PARAMS["w"])}
    updates, _ = optimizer.update({"w": fc.asarray(cases.GRADS[0]["w"])}, optimizer.init(arrays), arrays)
    np.testing.assert_allclose(new["w"].numpy(), np.asarray(optax.apply_updates(arrays, updates)["w"]), rtol=1e-6)


def test_modules_are_trained_by_transformations():
    torch.manual_seed(0)
    net, x = nn.Linear(3, 2), torch.randn(8, 3)
    optimizer = optax.sgd(0.1)
    state = optimizer.init(net)
    grads = fc.grad(lambda net: (net(x) ** 2).mean())(net)
    updates, state = optimizer.update(grads, state, net)
    new = optax.apply_updates(net, updates)
    (net(x) ** 2).mean().backward()
    np.testing.assert_allclose(
        new.weight.detach().numpy(), (net.weight - 0.1 * net.weight.grad).detach().numpy(), rtol=1e-5
    )


def test_hyperparameters_in_the_state_change_without_a_new_trace():
    optimizer = optax.inject_hyperparams(optax.sgd)(learning_rate=0.5)
    traces = []

    @fc.jit
    def step(state, g):
        traces.append(1)
        return optimizer.update(g, state)

    state = optimizer.init(fc.zeros(2))
    _, state = step(state, fc.ones(2))
    state.hyperparams["learning_rate"] = fc.asarray(2.0)
    updates, _ = step(state, fc.ones(2))
    assert updates.tolist() == [-2.0, -2.0] and len(traces) == 1


def test_lookahead_follows():
    optimizer = optax.lookahead(optax.sgd(0.5), sync_period=2, slow_step_size=0.25)
    params = optax.LookaheadParams.init_synced(fc.asarray([1.0]))
    state = optimizer.init(params)
    seen = []
    for _ in range(4):
        updates, state = optimizer.update(fc.asarray([1.0]), state, params)
        params = optax.apply_updates(params, updates)
        seen.append((params.fast.item(), params.slow.item()))
    # By hand: two steps of -0.5 each, then a quarter of the way from the slow one.
    assert seen == [(0.5, 1.0), (0.75, 0.75), (0.25, 0.75), (0.5, 0.5)]


def test_steps_that_are_not_finite_are_not_taken():
    optimizer = optax.apply_if_finite(optax.adam(0.1), 2)
    params = fc.asarray([1.0])
    state = optimizer.init(params)
    updates, after = optimizer.update(fc.asarray([np.nan]), state, params)
    assert updates.tolist() == [0.0] and int(after.total_notfinite) == 1 and not bool(after.last_finite)
    assert after.inner_state[0].mu.tolist() == state.inner_state[0].mu.tolist()
    updates, after = optimizer.update(fc.asarray([1.0]), after, params)
    assert int(after.notfinite_count) == 0 and updates.item() == pytest.approx(-0.1, rel=1e-5)


def test_lbfgs_by_a_line_search_finds_the_minimum():
    """Of Rosenbrock's function, at (1, 1), in one compiled loop."""
    f = lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2  # noqa: E731
    optimizer = optax.lbfgs()

    def step(carry, _):
        x, state = carry
        value, grad = optax.value_and_grad_from_state(f)(x, state=state)
        updates, state = optimizer.update(grad, state, x, value=value, grad=grad, value_fn=f)
        return (optax.apply_updates(x, updates), state), value

    start = fc.asarray([-1.2, 1.0])
    (x, _), values = fc.jit(lambda x, state: fc.scan(step, (x, state), length=60))(start, optimizer.init(start))
    np.testing.assert_allclose(np.asarray(x), [1.0, 1.0], atol=1e-3)
    assert bool(fc.all(values[1:] <= values[:-1]))
    with pytest.raises(TypeError, match="value_fn"):
        optimizer.update(start, optimizer.init(start), start)


def test_noise_has_the_variance_it_is_said_to_have():
    tx = optax.add_noise(eta=4.0, gamma=0.0, key=0)
    updates, state = tx.update(fc.zeros(20000), tx.init(None))
    assert float(fc.std(updates)) == pytest.approx(2.0, rel=0.03)
    again, _ = tx.update(fc.zeros(20000), state)
    assert not bool(fc.all(again == updates))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: optax.add_decayed_weights(0.1).update(fc.ones(1), optax.EmptyState()), "needs the parameters"),
        (lambda: optax.chain(optax.clip(1.0)).update(fc.ones(1), ()), "the state has 0 parts"),
        (lambda: optax.partition({"a": optax.clip(1.0)}, {"w": "b"}).init({"w": fc.ones(1)}), r"labels \['b'\]"),
        (lambda: optax.cosine_decay_schedule(1.0, 0), "decay_steps must be positive"),
        (lambda: optax.piecewise_interpolate_schedule("cubic", 1.0), "'linear' or 'cosine'"),
        (lambda: optax.inject_hyperparams(optax.sgd, static_args="b1"), "'b1'"),
        (lambda: optax.pytorch.sgd(0.1, beta=0.9), "'beta'"),
        (lambda: optax.lookahead(optax.sgd(1.0), 0, 0.5), "sync_period"),
    ],
)
def test_errors_say_what_to_do(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call()


# ---- measurements, and perturbed functions -----------------------------------------------------------


def test_measurements_are_kept():
    """The numbers of optax 0.2.8."""
    tx = optax.chain(
        optax.sgd(0.1, momentum=0.9),
        optax.monitor(
            {
                "norm": optax.tree.norm,
                "clipped": optax.measure_with_ema(lambda u: (optax.tree.norm(u) > 1.0).astype(float), decay=0.9),
            }
        ),
        optax.clip_by_global_norm(1.0),
    )
    params, found = jnp.array([1.0, 2.0, 3.0]), []
    state = tx.init(params)
    for _ in range(2):
        updates, state = tx.update(2 * params, state)
        params = optax.apply_updates(params, updates)
        found.append((float(optax.tree.get(state, "norm")), float(optax.tree.get(state, "clipped"))))
    np.testing.assert_allclose(found, [(0.748, 0.0), (1.272, 0.526)], atol=1e-3)
    step = fc.jit(lambda params, state: tx.update(2 * params, state)[1])
    assert float(optax.tree.get(step(params, tx.init(params)), "norm")) > 0


@pytest.mark.parametrize("noise", [optax.perturbations.Normal(), optax.perturbations.Gumbel()])
@pytest.mark.parametrize("use_baseline", [True, False])
def test_derivatives_of_what_has_none(noise, use_baseline):
    """Of steps smoothed by noise: against the density of the noise, at four standard errors."""
    smooth = optax.perturbations.make_perturbed_fun(
        lambda x: {"up": (x > 0).astype(float)}, 20000, 0.5, noise, use_baseline
    )
    x = jnp.asarray([0.2, -0.4, 0.0])
    slope = fc.grad(lambda x: smooth(fc.random.key(0), x)["up"].sum())(x)
    density = np.exp(np.asarray(noise.log_prob(-x / 0.5)))
    if isinstance(noise, optax.perturbations.Normal):
        density = density / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(slope, density / 0.5, atol=0.12)


def test_masked_steps_have_their_own_state():
    state = optax.conditionally_mask(optax.sgd(0.1), lambda step: step > 1).init(jnp.zeros(2))
    assert isinstance(state, optax.ConditionallyMaskState) and state._fields == ("step", "inner_state")
