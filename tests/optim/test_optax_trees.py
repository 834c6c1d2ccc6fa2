"""optax.tree and optax.projections: against NumPy, and by what makes a point the nearest one of a convex set."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import optax

rng = np.random.default_rng(0)
X = {"a": rng.normal(size=(2, 3)), "b": (rng.normal(size=4),)}
Y = {"a": rng.normal(size=(2, 3)), "b": (rng.normal(size=4),)}


def flat(tree):
    return np.concatenate([np.asarray(x).ravel() for x in fc.tree.leaves(tree)])


x, y = flat(X), flat(Y)
P = optax.projections

SETS = {  # the projection, and whether a vector is in the set
    "non_negative": (lambda t: P.projection_non_negative(t), lambda z: (z >= 0).all()),
    "box": (lambda t: P.projection_box(t, -0.3, 0.5), lambda z: (abs(z - 0.1) <= 0.4).all()),
    "hypercube": (lambda t: P.projection_hypercube(t, 0.7), lambda z: (abs(z - 0.35) <= 0.35).all()),
    "linf_ball": (lambda t: P.projection_linf_ball(t, 0.7), lambda z: (abs(z) <= 0.7).all()),
    "simplex": (lambda t: P.projection_simplex(t, 1.5), lambda z: (z >= 0).all() and abs(z.sum() - 1.5) < 1e-9),
    "l1_ball": (lambda t: P.projection_l1_ball(t, 1.5), lambda z: abs(z).sum() <= 1.5),
    "l2_ball": (lambda t: P.projection_l2_ball(t, 1.5), lambda z: (z**2).sum() <= 1.5**2),
    "hyperplane": (lambda t: P.projection_hyperplane(t, Y, 0.3), lambda z: abs(z @ y - 0.3) < 1e-9),
    "halfspace": (lambda t: P.projection_halfspace(t, Y, -9.0), lambda z: z @ y <= -9.0),
    "vector": (lambda t: P.projection_vector(t, Y), lambda z: np.allclose(z * y[0], z[0] * y)),
}


@pytest.mark.parametrize("name", SETS)
def test_a_projection_is_the_nearest_point(name):
    """In a convex set p is nearest to x if (x - p) . (z - p) <= 0 for all z of the set."""
    project, inside = SETS[name]
    p = flat(project(X))
    assert inside(p * (1 - 1e-12) if "ball" in name or name == "halfspace" else p) or inside(p - 1e-12 * y)
    unflatten = fc.flatten_util.ravel_pytree(X)[1]
    for z in rng.normal(size=(50, x.size)) * 2:
        other = flat(project(unflatten(fc.asarray(z))))
        assert (x - p) @ (other - p) <= 1e-9
    np.testing.assert_allclose(flat(project(project(X))), p, atol=1e-12)


def test_spheres_and_points_that_are_inside():
    assert abs(np.linalg.norm(flat(P.projection_l2_sphere(X, 1.5))) - 1.5) < 1e-12
    assert abs(np.abs(flat(P.projection_l1_sphere(X, 1.5))).sum() - 1.5) < 1e-12
    for project in (P.projection_l1_ball, P.projection_l2_ball, P.projection_linf_ball):
        np.testing.assert_array_equal(flat(project(X, 100.0)), x)
    zero = fc.zeros(2, dtype=fc.float64)
    assert fc.grad(lambda z: P.projection_l2_ball(z).sum())(zero).tolist() == [1.0, 1.0]


def test_arithmetic_of_trees():
    t = optax.tree
    np.testing.assert_allclose(flat(t.add(X, Y, X)), 2 * x + y)
    np.testing.assert_allclose(flat(t.sub(X, Y)), x - y)
    np.testing.assert_allclose(flat(t.mul(X, Y)), x * y)
    np.testing.assert_allclose(flat(t.div(X, Y)), x / y)
    np.testing.assert_allclose(flat(t.scale(2.0, X)), 2 * x)
    np.testing.assert_allclose(flat(t.add_scale(X, 0.5, Y)), x + y / 2)
    np.testing.assert_allclose(t.vdot(X, Y), x @ y)
    for found, wanted in [
        (t.sum(X), x.sum()), (t.sum(X, True), x.sum()), (t.max(X), x.max()), (t.min(X), x.min()), (t.size(X), 10),
        (t.norm(X), np.linalg.norm(x)), (t.norm(X, squared=True), x @ x), (t.norm(X, 1), abs(x).sum()),
        (t.norm(X, np.inf, squared=True), abs(x).max() ** 2), (t.allclose(X, X), True), (t.allclose(X, Y), False),
    ]:  # fmt: skip
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(flat(t.where(fc.asarray(False), X, Y)), y)
    np.testing.assert_allclose(flat(t.clip(X, -0.1, 0.2)), x.clip(-0.1, 0.2))
    assert flat(t.full_like(X, 3.0)).tolist() == [3.0] * 10 and t.dtype(t.cast(X, "float32")) == np.float32
    assert optax.tree_utils.tree_add is t.add
    with pytest.raises(ValueError, match="promote"):
        t.dtype({"a": np.ones(1), "b": np.ones(1, "float32")})
    keys = t.split_key_like(fc.random.key(0), X)
    drawn = fc.tree.map(lambda k, v: fc.random.normal(k, v.shape), keys, X)
    np.testing.assert_array_equal(drawn["a"], t.random_like(fc.random.key(0), X, dtype=fc.float32)["a"])


def test_states_are_read_and_written_by_name():
    tx = optax.chain(optax.snapshot("norm", optax.global_norm), optax.adam(0.1))
    state = tx.init(fc.zeros(2))
    _, state = tx.update(fc.asarray([3.0, 4.0]), state)
    assert optax.tree.get(state, "norm").item() == 5.0 and optax.tree.get(state, "nothing", 7) == 7
    state = optax.tree.set(state, mu=fc.ones(2))
    assert optax.tree.get(state, "mu").tolist() == [1.0, 1.0]
    with pytest.raises(KeyError, match="nothing"):
        optax.tree.set(state, nothing=1)
    frozen = optax.selective_transform(optax.sgd(1.0), freeze_mask={"a": True, "b": False})
    params = {"a": fc.ones(1), "b": fc.ones(1)}
    updates, _ = frozen.update(params, frozen.init(params), params)
    assert updates["a"].tolist() == [0.0] and updates["b"].tolist() == [-1.0]


@pytest.mark.parametrize("name", ["contrib", "assignment", "scale_by_zoom_linesearch"])
def test_a_missing_name_says_what_to_use(name):
    with pytest.raises(AttributeError, match="optax"):
        getattr(optax, name)


def test_copies_of_the_parameters_are_told_from_the_rest():
    params = {"w": fc.ones((2, 3)), "b": [fc.ones(3)]}
    names = {"w": "rows", "b": ["all"]}
    schedule = optax.linear_schedule(0.1, 0.0, 10)
    for optimizer, copies in (
        (optax.adam(1e-3), 2),
        (optax.chain(optax.clip(1.0), optax.adamw(schedule)), 2),
        (optax.inject_hyperparams(optax.sgd)(0.1, momentum=0.9), 1),
        (optax.MultiSteps(optax.adam(1e-3), 2), 3),
        (optax.sgd(0.1), 0),
    ):
        state = optimizer.init(params)
        specs = optax.tree_map_params(optimizer, lambda _, name: name, state, names, transform_non_params=lambda _: 0)
        leaves = fc.tree.leaves(specs)
        assert leaves.count("rows") == leaves.count("all") == copies and len(leaves) == len(fc.tree.leaves(state))
        assert set(leaves) <= {"rows", "all", 0}
        doubled = optax.tree_map_params(optimizer.init, lambda x: x + 2, state)
        changed = [bool((a != b).any()) for a, b in zip(fc.tree.leaves(doubled), fc.tree.leaves(state))]
        assert sum(changed) == 2 * copies
