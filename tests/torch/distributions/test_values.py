"""Samples, densities and moments of every family, against PyTorch's."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

from ..agree import ours, reference
from .cases import FAMILIES, made, plain

pytestmark = pytest.mark.filterwarnings("ignore")
BOTH = (reference, ours)
SHAPES = [(), (2,), (2, 1)]

# Where PyTorch's answer is none: (family, what) -> why.
BETTER = {
    ("Kumaraswamy", "mode"): "PyTorch's is always NaN",
    ("Multinomial", "expanded entropy"): "PyTorch forgets what it needs",
}


def outcome(call):
    """An array, another value, or the class of the error."""
    try:
        found = call()
    except (NotImplementedError, ValueError, RuntimeError) as error:
        return type(error).__name__
    return plain(found) if hasattr(found, "detach") else found


def same(found, expected, what, rtol=1e-4, atol=2e-5):
    """The two outcomes agree."""
    if isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray), (what, found)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), what
        np.testing.assert_allclose(found, expected, rtol, atol, err_msg=str(what))
    else:
        assert found == expected, what


def compare(name, shape, probes):
    """The probes, {what: function of (torch, distribution)}, give the same with both libraries."""
    pairs = [(t, made(t, name, shape)) for t in BOTH]
    for what, probe in probes.items():
        if (name, what) not in BETTER:
            expected, found = (outcome(lambda: probe(t, d)) for t, d in pairs)
            same(found, expected, (name, what))


def seeded(t, draw):
    t.manual_seed(1)
    return draw()


PROPERTIES = """mean mode variance stddev probs logits loc scale df covariance_matrix
    precision_matrix scale_tril concentration rate temperature""".split()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_distribution_tells(name, shape):
    probes = {p: lambda t, d, p=p: getattr(d, p, None) for p in PROPERTIES[4:]}
    probes |= {p: lambda t, d, p=p: getattr(d, p) for p in PROPERTIES[:4]}
    probes |= {
        "repr": lambda t, d: repr(d),
        "support": lambda t, d: repr(d.support),
        "constraints": lambda t, d: repr(d.arg_constraints),
        "shapes": lambda t, d: (tuple(d.batch_shape), tuple(d.event_shape)),
        "flags": lambda t, d: (d.has_rsample, d.has_enumerate_support),
        "entropy": lambda t, d: d.entropy(),
        "perplexity": lambda t, d: d.perplexity(),
        "values": lambda t, d: d.enumerate_support(),
        "plain values": lambda t, d: d.enumerate_support(expand=False),
    }
    compare(name, shape, probes)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FAMILIES)
def test_samples_and_probabilities(name, shape):
    probes = {}
    for n in [(), (3,), (2, 3)]:

        def drawn(t, d, n=n):
            return seeded(t, lambda: d.sample(n))

        probes["sample", n] = drawn
        probes["rsample", n] = lambda t, d, n=n: seeded(t, lambda: d.rsample(n))
        probes["log_prob", n] = lambda t, d, drawn=drawn: d.log_prob(drawn(t, d))
        probes["cdf", n] = lambda t, d, drawn=drawn: d.cdf(drawn(t, d))
    levels = np.array([0.05, 0.3, 0.5, 0.95], np.float32)
    probes["icdf"] = lambda t, d: d.icdf(t.tensor(levels).reshape((4, *[1] * len(shape))))
    compare(name, shape, probes)


@pytest.mark.parametrize("name", FAMILIES)
def test_expanded_distributions(name):
    def expanded(d):
        return d.expand((3, *d.batch_shape))

    compare(
        name,
        (2,),
        {
            "expanded": lambda t, d: (repr(expanded(d)), tuple(expanded(d).event_shape)),
            "expanded sample": lambda t, d: seeded(t, lambda: expanded(d).sample((2,))),
            "expanded log_prob": lambda t, d: expanded(d).log_prob(seeded(t, d.sample)),
            "expanded variance": lambda t, d: expanded(d).variance,
            "expanded entropy": lambda t, d: expanded(d).entropy(),
            "twice": lambda t, d: tuple(expanded(expanded(d)).batch_shape),
        },
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_copies(name):
    d = made(ours, name)
    copies = pickle.loads(pickle.dumps(d)), copy.deepcopy(d)
    for other in copies:
        assert repr(other) == repr(d) and type(other) is type(d)
    x = seeded(ours, d.sample)
    for other in copies:
        np.testing.assert_allclose(other.log_prob(x), d.log_prob(x), 1e-5, 1e-6)


FLOAT64 = [
    "Normal",
    "Gamma",
    "Beta",
    "Dirichlet",
    "StudentT",
    "MultivariateNormal",
    "Bernoulli",
    "Categorical",
    "VonMises",
    "Uniform",
    "Poisson",
    "ContinuousBernoulli",
]


@pytest.mark.parametrize("name", FLOAT64)
def test_float64(name):
    pairs = [(t, made(t, name, dtype="float64")) for t in BOTH]
    drawn = [outcome(lambda: seeded(t, lambda: d.sample((3,)))) for t, d in pairs]
    same(drawn[1], drawn[0], "sample", 1e-12, 1e-12)
    logs = [outcome(lambda: d.log_prob(t.tensor(drawn[0]))) for t, d in pairs]
    same(logs[1], logs[0], "log_prob", 1e-9 if name != "VonMises" else 1e-6, 1e-9)


def test_module_names():
    for name in reference.distributions.__all__:
        theirs, found = (getattr(t.distributions, name) for t in BOTH)
        if isinstance(theirs, type):
            assert found.__module__ == f"functorch_core.{theirs.__module__}"
            assert found.__qualname__ == theirs.__qualname__


def test_signatures():
    import inspect

    for name in reference.distributions.__all__:
        theirs, found = (getattr(t.distributions, name) for t in BOTH)
        if isinstance(theirs, type):
            names = [
                [(p.name, str(p.default), p.kind) for p in inspect.signature(c.__init__).parameters.values()]
                for c in (theirs, found)
            ]
            assert str(names[1]).replace("functorch_core.", "") == str(names[0]), name


def test_nothing_is_missing():
    for module in ("", ".constraints", ".transforms", ".kl", ".utils", ".constraint_registry"):
        import importlib

        theirs = importlib.import_module(f"torch.distributions{module}")
        found = importlib.import_module(f"functorch_core.torch.distributions{module}")
        for name in theirs.__all__:
            assert not getattr(getattr(found, name), "is_missing", False), name


def test_numbers_give_batches_of_no_dimensions():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in BOTH:
            d = t.distributions
            for made_of_numbers in (
                d.Normal(0, 1),
                d.Beta(1, 2),
                d.Gumbel(0, 1),
                d.Pareto(1, 2),
                d.Uniform(0, 2),
                d.Weibull(1, 2),
                d.Gamma(1, 2),
            ):
                assert made_of_numbers.batch_shape == () and made_of_numbers.sample().shape == ()
                assert made_of_numbers.sample((2,)).dtype is t.float32
