"""Transforms, constraints, and the registry between them, against PyTorch's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from ..agree import ours, reference
from .cases import plain
from .test_values import BOTH, outcome, same

RNG = np.random.default_rng(0)
NUMBERS = RNG.uniform(-1.5, 1.5, (3, 4)).astype(np.float32)
SQUARE = RNG.uniform(-1, 1, (2, 3, 3)).astype(np.float32)

# name -> (transform of (d, torch), an x)
TRANSFORMS = {
    "abs": (lambda d, t: d.AbsTransform(), NUMBERS),
    "affine": (lambda d, t: d.AffineTransform(1.0, -2.0), NUMBERS),
    "affine tensors": (lambda d, t: d.AffineTransform(t.zeros(4), t.tensor([1.0, 2.0, -3.0, 0.5])), NUMBERS),
    "affine event": (lambda d, t: d.AffineTransform(t.zeros(4), 2.0, event_dim=1), NUMBERS),
    "cat": (lambda d, t: d.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 3]), NUMBERS),
    "cat events": (
        lambda d, t: d.CatTransform([d.AffineTransform(0.0, 2.0, event_dim=1), d.ExpTransform()], -1, [3, 1]),
        NUMBERS,
    ),
    "compose": (lambda d, t: d.ComposeTransform([d.AffineTransform(0.0, 2.0), d.TanhTransform()]), NUMBERS),
    "compose events": (
        lambda d, t: d.ComposeTransform([d.ExpTransform(), d.ReshapeTransform((4,), (2, 2)), d.SigmoidTransform()]),
        NUMBERS,
    ),
    "compose nothing": (lambda d, t: d.ComposeTransform([]), NUMBERS),
    "corr cholesky": (lambda d, t: d.CorrCholeskyTransform(), NUMBERS[:, :3]),
    "cdf": (lambda d, t: d.CumulativeDistributionTransform(d.Normal(0.0, 2.0)), NUMBERS),
    "exp": (lambda d, t: d.ExpTransform(), NUMBERS),
    "exp inverse": (lambda d, t: d.ExpTransform().inv, NUMBERS + 2),
    "independent": (lambda d, t: d.IndependentTransform(d.ExpTransform(), 1), NUMBERS),
    "lower cholesky": (lambda d, t: d.LowerCholeskyTransform(), SQUARE),
    "positive definite": (lambda d, t: d.PositiveDefiniteTransform(), SQUARE),
    "power": (lambda d, t: d.PowerTransform(t.tensor(2.5)), NUMBERS + 2),
    "power negative": (lambda d, t: d.PowerTransform(t.tensor([-1.0, 2.0, 0.5, 3.0])), NUMBERS + 2),
    "reshape": (lambda d, t: d.ReshapeTransform((4,), (2, 2)), NUMBERS),
    "sigmoid": (lambda d, t: d.SigmoidTransform(), NUMBERS),
    "sigmoid far": (lambda d, t: d.SigmoidTransform(), NUMBERS * 100),
    "softmax": (lambda d, t: d.SoftmaxTransform(), NUMBERS),
    "softplus": (lambda d, t: d.SoftplusTransform(), NUMBERS),
    "stack": (lambda d, t: d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.SigmoidTransform()], 0), NUMBERS),
    "stick breaking": (lambda d, t: d.StickBreakingTransform(), NUMBERS),
    "tanh": (lambda d, t: d.TanhTransform(), NUMBERS),
}


def answers(t, name: str) -> dict:
    make, x = TRANSFORMS[name]
    made, x = make(t.distributions, t), t.tensor(x)
    y = made(x)
    probes = {
        "y": lambda: y,
        "x": lambda: made.inv(y),
        "log_abs_det": lambda: made.log_abs_det_jacobian(x, y),
        "inverse log_abs_det": lambda: made.inv.log_abs_det_jacobian(y, x),
        "sign": lambda: made.sign,
        "bijective": lambda: made.bijective,
        "domain": lambda: repr(made.domain),
        "codomain": lambda: repr(made.codomain),
        "event_dim": lambda: made.event_dim,
        "repr": lambda: repr(made),
        "inside": lambda: made.codomain.check(y),
        "forward_shape": lambda: tuple(made.forward_shape(x.shape)),
        "inverse_shape": lambda: tuple(made.inverse_shape(y.shape)),
        "equal": lambda: made == make(t.distributions, t),
        "cached": lambda: made.with_cache()._cache_size,
    }
    return {what: outcome(probe) for what, probe in probes.items()}


MORE_EQUAL = {
    "cat",
    "cat events",
    "stack",
    "reshape",
    "independent",
    "cdf",
    "corr cholesky",
    "compose events",
}  # PyTorch compares these by identity


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    expected, found = (answers(t, name) for t in BOTH)
    for what in expected:
        if what == "equal" and name in MORE_EQUAL:
            continue
        same(found[what], expected[what], (name, what), 1e-4, 2e-5)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_log_determinant_is_that_of_the_jacobian(name):
    make, x = TRANSFORMS[name]
    made = make(ours.distributions, ours)
    x = ours.tensor(x[0].astype(np.float64) if name not in ("stack",) else x.astype(np.float64))
    if name in (
        "lower cholesky",
        "positive definite",
        "softmax",
        "abs",
        "sigmoid far",
        "affine tensors",
        "power negative",
    ):
        return
    n = made.domain.event_dim
    flat = x.flatten()
    jacobian = ours.autograd.functional.jacobian(lambda v: free(made(v.reshape(x.shape)), name), flat)
    total = made.log_abs_det_jacobian(x, made(x)).sum()
    assert n <= 1
    np.testing.assert_allclose(total, ours.linalg.slogdet(jacobian).logabsdet, 1e-5)


def free(y, name: str):
    """As many elements of y as are free."""
    if name == "stick breaking":
        y = y[..., :-1]
    if name == "corr cholesky":
        return ours.distributions.utils.tril_matrix_to_vec(y, -1)
    return y.flatten()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_caches_pickles_and_gradients(name):
    make, x = TRANSFORMS[name]
    made = make(ours.distributions, ours)
    cached = made.with_cache()
    x = ours.tensor(x, requires_grad=True)
    y = cached(x)
    if name not in ("compose nothing",):
        assert cached.inv(y) is x or isinstance(cached, ours.distributions.ComposeTransform)
    assert made.inv.inv is made or name.startswith("compose")
    y.sum().backward()
    assert ours.isfinite(x.grad).all()
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert repr(other) == repr(made)
        np.testing.assert_allclose(other(x.detach()), made(x.detach()), 1e-6)


def test_a_transform_of_ones_own():
    for t in BOTH:

        class Doubled(t.distributions.Transform):
            domain = codomain = t.distributions.constraints.real
            bijective, sign = True, +1

            def _call(self, x):
                return 2 * x

            def _inverse(self, y):
                return y / 2

            def log_abs_det_jacobian(self, x, y):
                return t.full_like(x, 0.6931471805599453)

        class Scaled(Doubled):
            def __init__(self, by):
                super().__init__()
                self.by = by

        d = t.distributions.TransformedDistribution(t.distributions.Normal(0.0, 1.0), Doubled())
        wide = t.distributions.Normal(0.0, 2.0)
        assert abs(d.log_prob(t.tensor(1.0)) - wide.log_prob(t.tensor(1.0))) < 1e-6
        assert Doubled().with_cache()._cache_size == 1 and Doubled().event_dim == 0
        with pytest.raises(NotImplementedError, match="with_cache is not implemented"):
            Scaled(3).with_cache()


# ---- constraints ---------------------------------------------------------------------------------

CONSTRAINTS = """boolean one_hot nonnegative_integer positive_integer real real_vector positive
    nonnegative unit_interval simplex lower_triangular lower_cholesky corr_cholesky square symmetric
    positive_semidefinite positive_definite greater_than(.5) greater_than_eq(t.tensor(.5))
    less_than(.5) interval(-1,t.tensor(.5)) half_open_interval(0.,1.) integer_interval(0,2)
    independent(c.positive,1) cat([c.real,c.positive],-1,[1,1]) stack([c.real,c.positive],-1)
    multinomial(3) MixtureSameFamilyConstraint(c.positive) dependent""".split()
VALUES = [
    [[1.0, 0.0], [0.0, 1.0]],
    [[1.0, 5e-7], [0.0, 1.0]],
    [[1.0, 0.0], [0.6, 0.8]],
    [[1.0, 0.0], [0.6, 0.9]],
    [[1.0, 0.0], [0.0, 0.0]],
    [[1.0, 0.0], [0.0, -1.0]],
    [[2.0, 1.0], [1.0, 2.0]],
    [[1.0, 2.0], [2.0, 1.0]],
    [[0.5, 0.5], [0.3, 0.7]],
    [[0.5, 0.5000005], [0.3, 0.71]],
    [[np.nan, 1.0], [np.inf, 2.0]],
    [[-0.5, 3.0], [1.0, 1.5]],
    [[0.0, 1.0], [2.0, 1.0]],
]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name):
    def tell(t):
        c = t.distributions.constraints
        made = eval(f"c.{name}", {"c": c, "t": t})
        probes = [lambda: repr(made), lambda: made.is_discrete, lambda: made.event_dim, lambda: c.is_dependent(made)]
        values = [lambda v=v: made.check(t.tensor(v)) for v in [*VALUES, [[1.0, 2.0, 0.0]] * 2]]
        return [outcome(probe) for probe in [*probes, *values]]

    for i, (found, expected) in enumerate(zip(tell(ours), tell(reference))):
        same(found, expected, (name, i))


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_registry(name, registry):
    def tell(t):
        c = t.distributions.constraints
        made = eval(f"c.{name}", {"c": c, "t": t})
        x = t.tensor(NUMBERS[:2, :2])

        def transformed():
            transform = getattr(t.distributions, registry)(made)
            y = transform(x)
            return y, repr(transform), bool(made.check(y).all())

        return outcome(transformed)

    found, expected = tell(ours), tell(reference)
    assert found[1:] == expected[1:]
    if isinstance(expected, tuple):
        same(plain(found[0]), plain(expected[0]), name)


def test_registering_a_constraint():
    d = ours.distributions

    class Above(d.constraints.Constraint):
        pass

    registry = d.constraint_registry.ConstraintRegistry()

    @registry.register(Above)
    def factory(constraint):
        return d.ExpTransform()

    assert registry(Above()) == d.ExpTransform()
    registry.register(Above(), lambda c: d.TanhTransform())
    assert registry(Above()) == d.TanhTransform()


# ---- utilities -----------------------------------------------------------------------------------


def test_utilities():
    def tell(t):
        u = t.distributions.utils
        x = t.tensor([[0.0, 0.5, 1.0], [0.2, 0.3, 0.5]])
        return [
            *u.broadcast_all(1, t.ones(2, dtype=t.float64)),
            *u.broadcast_all(1, 2.5),
            *u.broadcast_all(True, t.arange(2)),
            u.clamp_probs(x),
            u.probs_to_logits(x),
            u.probs_to_logits(x, is_binary=True),
            u.logits_to_probs(x),
            u.logits_to_probs(x, True),
            u.tril_matrix_to_vec(t.arange(9.0).view(3, 3)),
            u.tril_matrix_to_vec(t.arange(9.0).view(3, 3), -1),
            u.vec_to_tril_matrix(t.arange(6.0)),
            u.vec_to_tril_matrix(t.arange(3.0), -1),
            u.vec_to_tril_matrix(t.arange(8.0), 1),
            u.vec_to_tril_matrix(t.ones(2, 3)),
            u._sum_rightmost(t.ones(2, 3, 4), 2),
            u._sum_rightmost(t.ones(2, 3), 0),
        ]

    for i, (found, expected) in enumerate(zip(tell(ours), tell(reference))):
        same(plain(found), plain(expected), i)


@pytest.mark.parametrize("t", BOTH, ids=["theirs", "ours"])
def test_lazy_property(t):
    lazy_property = t.distributions.utils.lazy_property

    class Thing:
        count = 0

        @lazy_property
        def value(self):
            """What it is."""
            self.count += 1
            assert t.is_grad_enabled()
            return t.ones(1)

    thing = Thing()
    with t.no_grad():
        assert thing.value is thing.value and thing.count == 1
    assert isinstance(Thing.value, property) and isinstance(Thing.value, lazy_property)
