"""Values that optax computes.

    OPTAXPYTHON tests/optim/optax_values.py     writes optax_values.npz anew, with a Python that has optax (0.2.8)

test_optax.py evaluates the same expressions here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("optax_values.npz")
STEPS = 7
rng = np.random.default_rng(3)
PARAMS = {
    "b": rng.normal(size=3).astype(np.float32),
    "k": rng.normal(size=(2, 2, 3, 4)).astype(np.float32),
    "w": rng.normal(size=(4, 3)).astype(np.float32),
}
GRADS = [{k: rng.normal(size=x.shape).astype(np.float32) for k, x in PARAMS.items()} for _ in range(STEPS)]
DATA = {
    "x": rng.normal(size=(5, 4)).astype(np.float32),
    "y": rng.normal(size=(5, 4)).astype(np.float32),
    "p": rng.dirichlet(np.ones(4), size=5).astype(np.float32),
    "i": np.array([0, 3, 1, 2, 2]),
    "m": rng.random((5, 4)) > 0.2,
    "frames": rng.normal(size=(3, 7, 5)).astype(np.float32),
    "frame_pads": np.repeat(np.float32([[0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1]]), 1, 0),
    "words": np.array([[1, 2, 2], [3, 0, 0], [4, 4, 1]]),
    "word_pads": np.float32([[0, 0, 0], [0, 1, 1], [0, 0, 0]]),
}
MASK = "{'b': False, 'k': True, 'w': True}"

# Optimizers: the parameters after STEPS steps with GRADS.
OPTIMIZERS = f"""
optax.sgd(0.1)
optax.sgd(0.1, momentum=0.9)
optax.sgd(0.1, momentum=0.9, nesterov=True)
optax.sgd(optax.exponential_decay(0.1, 2, 0.5))
optax.adam(0.1)
optax.adam(0.1, b1=0.8, b2=0.9, eps=1e-3, eps_root=1e-2)
optax.adam(0.1, nesterov=True)
optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.1, 3, 6, 0.01))
optax.nadam(0.1)
optax.adamw(0.1, weight_decay=0.1)
optax.adamw(0.1, weight_decay=0.1, mask={MASK})
optax.adamw(0.1, weight_decay=0.1, mask=lambda params: jax.tree.map(lambda p: p.ndim > 1, params))
optax.nadamw(0.1, weight_decay=0.1)
optax.adamax(0.1)
optax.adamaxw(0.1)
optax.amsgrad(0.1)
optax.radam(0.1, b2=0.9)
optax.radam(0.1, eps=1e-2, b2=0.9)
optax.adabelief(0.1)
optax.adabelief(0.1, eps=1e-3, eps_root=1e-3)
optax.yogi(0.1)
optax.lion(0.01)
optax.lamb(0.1, weight_decay=0.01)
optax.lars(0.1, weight_decay=0.01, momentum=0.9)
optax.rmsprop(0.1)
optax.rmsprop(0.1, eps=1e-2, eps_in_sqrt=False, initial_scale=0.5)
optax.rmsprop(0.1, centered=True, eps=1e-3)
optax.rmsprop(0.1, momentum=0.9, nesterov=True)
optax.adagrad(0.1)
optax.adagrad(0.1, initial_accumulator_value=1.0, eps=1e-3)
optax.adadelta(1.0)
optax.adadelta(0.5, rho=0.8, eps=1e-3, weight_decay=0.1)
optax.rprop(0.1)
optax.rprop(0.1, eta_minus=0.6, eta_plus=1.5, max_step_size=0.2)
optax.sign_sgd(0.1)
optax.adafactor(0.1)
optax.adafactor(0.1, min_dim_size_to_factor=2)
optax.adafactor(0.1, min_dim_size_to_factor=2, momentum=0.9, weight_decay_rate=0.01, clipping_threshold=None)
optax.adafactor(min_dim_size_to_factor=3, multiply_by_parameter_scale=False, eps=1e-3, decay_offset=-2)
optax.lbfgs(0.1, linesearch=None)
optax.lbfgs(0.1, memory_size=3, scale_init_precond=False, linesearch=None)
optax.signum(0.1)
optax.adan(0.1)
optax.adan(0.1, b1=0.9, b2=0.8, b3=0.95, eps=1e-3, weight_decay=0.1, mask={MASK})
optax.novograd(0.1)
optax.novograd(0.1, b1=0.8, b2=0.5, eps=1e-2, eps_root=1e-2, weight_decay=0.1)
optax.fromage(0.1)
optax.optimistic_gradient_descent(0.1)
optax.optimistic_gradient_descent(0.1, alpha=0.7, beta=0.4)
optax.optimistic_adam_v2(0.1)
optax.optimistic_adam_v2(0.1, alpha=0.5, beta=0.3, nesterov=False)
optax.sm3(0.1)
optax.sm3(0.1, momentum=0.5)
optax.chain(optax.scale_by_sm3(0.8, 0.9, 1e-3), optax.scale(-0.1))
optax.chain(optax.clip(0.5), optax.sgd(0.1))
optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))
optax.chain(optax.clip_by_global_norm(100.0), optax.sgd(0.1))
optax.chain(optax.clip_by_block_rms(0.5), optax.sgd(0.1))
optax.chain(optax.adaptive_grad_clip(0.1), optax.sgd(0.1))
optax.chain(optax.add_decayed_weights(0.1), optax.scale(-0.1))
optax.chain(optax.ema(0.9), optax.scale(-0.1))
optax.chain(optax.ema(0.9, debias=False), optax.scale(-0.1))
optax.chain(optax.centralize(), optax.scale(-0.1))
optax.chain(optax.normalize_by_update_norm(2.0), optax.scale(-0.1))
optax.chain(optax.scale_by_param_block_norm(), optax.scale(-0.1))
optax.chain(optax.scale_by_param_block_rms(), optax.scale(-0.1))
optax.chain(optax.scale_by_trust_ratio(min_norm=0.1), optax.scale(-0.1))
optax.chain(optax.apply_every(3), optax.scale(-0.1))
optax.chain(optax.sgd(1.0), optax.keep_params_nonnegative())
optax.chain(optax.scale_by_stddev(0.9, eps=1e-3), optax.scale(-0.1))
optax.chain(optax.scale_by_schedule(optax.linear_schedule(1.0, 0.0, 5)), optax.scale(-0.1))
optax.named_chain(("a", optax.scale_by_adam()), ("b", optax.scale(-0.1)))
optax.masked(optax.adam(0.1), {MASK})
optax.multi_transform({{'a': optax.adam(0.1), 'b': optax.sgd(0.1)}}, {{'b': 'a', 'k': 'b', 'w': 'a'}})
optax.partition({{'a': optax.adam(0.1), 'b': optax.set_to_zero()}}, {{'b': 'a', 'k': 'b', 'w': 'b'}})
optax.chain(optax.sgd(0.1), optax.freeze({MASK}))
optax.flatten(optax.adam(0.1))
optax.flatten(optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)))
optax.MultiSteps(optax.adam(0.1), 2)
optax.MultiSteps(optax.sgd(0.1), 3, use_grad_mean=False)
optax.MultiSteps(optax.sgd(0.1), lambda step: 1 + step)
optax.MultiSteps(optax.sgd(0.1), 2, should_skip_update_fn=lambda u, s, p: optax.skip_large_updates(u, s, p, 60.0))
optax.inject_hyperparams(optax.adam)(learning_rate=optax.linear_schedule(0.1, 0.0, 5), b1=0.8)
optax.inject_hyperparams(optax.adamw, static_args="b2")(learning_rate=0.1)
optax.apply_if_finite(optax.adam(0.1), 2)
optax.conditionally_transform(optax.scale(-0.5), lambda step: step % 2 == 0)
optax.conditionally_mask(optax.sgd(0.1), lambda step: step % 2 == 0)
optax.chain(optax.scale_by_distance_over_gradients(1e-2), optax.scale(-1.0))
optax.chain(optax.monitor({{"mean": optax.measure_with_ema(optax.global_norm, 0.9)}}), optax.sgd(0.1))
optax.identity()
optax.stateless(lambda updates, params: jax.tree.map(lambda u: -0.1 * u, updates))
optax.stateless_with_tree_map(lambda u, p: -0.1 * u * p)
""".strip().splitlines()

# Schedules: their values at counts 0, 1, ..., 14.
SCHEDULES = """
optax.constant_schedule(0.3)
optax.linear_schedule(1.0, 0.1, 6)
optax.linear_schedule(1.0, 0.1, 6, transition_begin=3)
optax.polynomial_schedule(1.0, 0.1, 3, 6, transition_begin=2)
optax.cosine_decay_schedule(0.5, 10)
optax.cosine_decay_schedule(0.5, 10, alpha=0.1, exponent=2.0)
optax.exponential_decay(1.0, 3, 0.5)
optax.exponential_decay(1.0, 3, 0.5, transition_begin=2, staircase=True, end_value=0.2)
optax.exponential_decay(1.0, 3, 1.5, end_value=2.0)
optax.piecewise_constant_schedule(1.0, {4: 0.5, 8: 0.1})
optax.piecewise_interpolate_schedule("linear", 1.0, {4: 0.5, 8: 0.1})
optax.piecewise_interpolate_schedule("cosine", 1.0, {4: 0.5, 8: 3.0})
optax.warmup_constant_schedule(0.0, 1.0, 4)
optax.warmup_cosine_decay_schedule(0.1, 1.0, 4, 12)
optax.warmup_cosine_decay_schedule(0.1, 1.0, 4, 12, end_value=0.2, exponent=2.0)
optax.warmup_exponential_decay_schedule(0.0, 1.0, 4, 3, 0.5)
optax.warmup_exponential_decay_schedule(0.0, 1.0, 4, 3, 0.5, 2, True, 0.3)
optax.cosine_onecycle_schedule(12, 1.0)
optax.linear_onecycle_schedule(12, 1.0)
optax.sgdr_schedule([dict(init_value=0.0, peak_value=1.0, warmup_steps=2, decay_steps=5)] * 3)
optax.join_schedules([optax.constant_schedule(1.0), optax.linear_schedule(1.0, 0.0, 4)], [5])
""".strip().splitlines()

LOSSES = """
optax.l2_loss(x, y)
optax.squared_error(x)
optax.huber_loss(x, y, delta=0.5)
optax.log_cosh(x, y)
optax.softmax_cross_entropy(x, p)
optax.softmax_cross_entropy(x, p, where=m)
optax.softmax_cross_entropy_with_integer_labels(x, i)
optax.softmax_cross_entropy_with_integer_labels(x.T, i, axis=0)
optax.sigmoid_binary_cross_entropy(x, p)
optax.hinge_loss(x, jnp.sign(y))
optax.cosine_similarity(x, y)
optax.cosine_distance(x, y, epsilon=1e-3)
optax.kl_divergence(x, p)
optax.smooth_labels(p, 0.1)
optax.generalized_kl_divergence(x, p)
optax.convex_kl_divergence(x, 2 * p, where=m)
optax.safe_softmax_cross_entropy(jnp.where(m, x, -jnp.inf), jnp.where(m, p, 0.0))
optax.sigmoid_focal_loss(x, jnp.where(m, 1.0, 0.0))
optax.sigmoid_focal_loss(10 * x, jnp.where(m, 1.0, 0.0), alpha=0.25, gamma=1.5)
optax.sigmoid_focal_loss(x, p, alpha=0.3)
optax.update_moment(x, y, 0.9, 2)
optax.update_moment_per_elem_norm(x, y, 0.9, 3)
optax.update_infinity_moment(x, y, 0.9, 0.1)
optax.bias_correction(x, 0.9, 3)
optax.polyak_sgd(0.5).update(x, optax.polyak_sgd().init(x), y, value=2.0)[0]
optax.polyak_sgd(5.0, 0.3, f_min=0.5, eps=0.1).update(x, optax.polyak_sgd().init(x), y, value=8.0)[0]
optax.polyak_sgd(variant="sps+").update(x, optax.polyak_sgd().init(x), y, value=-2.0)[0]
optax.global_norm({"a": x, "b": (y, p)})
optax.incremental_update(x, y, 0.1)
optax.periodic_update(x, y, 4, 2)
optax.per_example_global_norm_clip([x, y], 1.5)[0][1]
optax.per_example_layer_norm_clip([x, y[:, :2]], 1.5)[0][1]
optax.per_example_layer_norm_clip([x, y[:, :2]], 1.5, uniform=False)[0][1]
optax.per_example_layer_norm_clip([x, y[:, :2]], 2.5, uniform=False)[1][0]
optax.safe_norm(x, 0.1)
optax.safe_norm(x, 2.0, axis=1)
optax.safe_norm(x, 2.0, ord=1, axis=0, keepdims=True)
optax.safe_root_mean_squares(x, 0.1)
optax.safe_root_mean_squares(x, 10.0)
jax.grad(lambda x: optax.safe_norm(x, 0.1))(x)
jax.grad(lambda x: optax.safe_norm(x, 2.0, axis=1).sum())(x.at[0].set(0.0))
jax.grad(lambda x: optax.safe_root_mean_squares(x, 0.1))(x)
jax.grad(lambda x: optax.safe_root_mean_squares(x, 0.1))(0 * x)
optax.ctc_loss(frames, frame_pads, words, word_pads)
optax.ctc_loss(frames, frame_pads, words, word_pads, blank_id=3)
optax.ctc_loss_with_forward_probs(frames, frame_pads, words, word_pads)[1]
optax.ctc_loss_with_forward_probs(frames, frame_pads, words, word_pads)[2]
jax.grad(lambda z: optax.ctc_loss(z, frame_pads, words, word_pads).sum())(frames)
optax.ntxent(x, i)
optax.ntxent(x, i, temperature=0.5)
jax.grad(lambda x: optax.ntxent(x, i, 0.5))(x)
optax.ntxent(x, jnp.arange(5))
optax.nnls(x, y, 200)
optax.nnls(x, y[:, 0], 200, L=30.0)
optax.power_iteration(x.T @ x)[0]
jnp.abs(optax.power_iteration(x.T @ x)[1])
optax.power_iteration(lambda t: {"a": 3 * t["a"]}, v0={"a": y[0]})[0]
optax.matrix_inverse_pth_root(x.T @ x, 4)[0]
optax.perturbations.Normal().log_prob(x)
optax.perturbations.Gumbel().log_prob(x)
jax.grad(lambda t: (optax.scale_gradient(t, 0.3)["a"] ** 2).sum())({"a": x})["a"]
""".strip().splitlines()


def train(optimizer, asarray, apply_updates, steps: int = STEPS) -> list[np.ndarray]:
    """The parameters after some steps."""
    params = {k: asarray(x) for k, x in PARAMS.items()}
    state = optimizer.init(params)
    for grads in GRADS[:steps]:
        updates, state = optimizer.update({k: asarray(g) for k, g in grads.items()}, state, params)
        params = apply_updates(params, updates)
    return [np.asarray(params[k]) for k in sorted(params)]


def main():
    """Write the file."""
    import jax
    import jax.numpy as jnp
    import optax

    names = {"optax": optax, "jnp": jnp, "jax": jax}
    found = {}
    for case in OPTIMIZERS:
        out = train(eval(case, names), jnp.asarray, optax.apply_updates)
        found |= {f"{case} {i}": x for i, x in enumerate(out)}
    for case in SCHEDULES:
        schedule = eval(case, names)
        found[case] = np.asarray([schedule(count) for count in range(15)], np.float32)
    data = {k: jnp.asarray(x) for k, x in DATA.items()}
    for case in LOSSES:
        found[case] = np.asarray(eval(case, {**names, **data}))
    np.savez_compressed(FILE, **{str(i): x for i, x in enumerate(found.values())}, names=np.array(list(found)))


if __name__ == "__main__":
    main()
