"""What is wrong is refused with PyTorch's words."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch as reference

from ..agree import ours
from .test_values import BOTH

# Programs of d (the distributions), t (torch), T (a tensor of numbers), ONES, ZEROS, EYE of two.
REFUSED = """
d.Normal(0., -1.)
d.Normal(ZEROS, T([1., -1.]))
d.Normal(ZEROS, t.ones(3))
d.Normal([0.], 1.)
d.Normal(None, 1.)
d.Normal(0., 1.).log_prob(1.)
d.Normal(0., 1.).log_prob(T(float('nan')))
d.Normal(0., 1.).cdf(T(float('nan')))
d.Normal(t.zeros(3), 1.).log_prob(ZEROS)
d.Normal(ZEROS, 1.).expand((3,))
d.Normal(0., 1.).enumerate_support()
d.Laplace(0., 1.).cdf(T(float('nan')))
d.Cauchy(0., -1.)
d.Chi2(-1.)
d.ContinuousBernoulli(.3).cdf(T(2.))
d.ContinuousBernoulli(1.5, validate_args=True)
d.Exponential(-1.)
d.Exponential(1.).log_prob(T(-1.))
d.Exponential(1.).cdf(T(-1.5))
d.FisherSnedecor(-1., 2.)
d.Gamma(1., 1.).log_prob(T(-1.))
d.Gamma(1., 1.).icdf(T(.5))
d.GeneralizedPareto(0., -1., 1.)
d.GeneralizedPareto(0., 1., -.5).log_prob(T(3.))
d.GeneralizedPareto(0., 1., .5).log_cdf(T(-1.))
d.Gumbel(0., -1.)
d.Gumbel(0., T([1., -1.]))
d.HalfCauchy(-1.)
d.HalfCauchy(1.).log_prob(T(-1.))
d.HalfNormal(-1.)
d.HalfNormal(1.).cdf(T(-1.))
d.InverseGamma(-1., 1.)
d.Kumaraswamy(-1., 1.)
d.LogNormal(0., -1.)
d.LogNormal(0., 1.).cdf(T(-1.))
d.Pareto(-1., 1.)
d.Pareto(T([1., 2.]), 1.).log_prob(T(.5))
d.StudentT(-1.)
d.StudentT(1., 0., -1.)
d.StudentT(1.).cdf(T(1.))
d.Uniform(1., 0.)
d.Uniform(0., float('nan'))
d.Uniform(ZEROS, T([1., 0.]))
d.Uniform(ZEROS, ONES).log_prob(T([1.5, .5]))
d.Uniform(0., 1.).cdf(T(1.5))
d.VonMises(T(0.), T(-1.))
d.VonMises(T(0.), T(1.)).entropy()
d.Weibull(-1., 1.)
d.Bernoulli()
d.Bernoulli(.5, .5)
d.Bernoulli(1.5)
d.Bernoulli(T([.5, .6])).log_prob(T([.5, 1]))
d.Bernoulli(T(.5)).rsample()
d.Binomial(-1, T(.5))
d.Binomial(2, T(1.5))
d.Binomial(2, T(.5)).log_prob(T(3.))
d.Binomial(T([2, 3]), T(.5)).enumerate_support()
d.Binomial(T([2, 3]), T(.5)).entropy()
d.Categorical()
d.Categorical(T(.5))
d.Categorical(logits=T(.5))
d.Categorical(t.zeros(2))
d.Categorical(T([.5, -.5]))
d.Categorical(logits=T([1., float('nan')]))
d.Categorical(t.ones(3)).log_prob(T(5))
d.Categorical(t.ones(3)).log_prob(T(1.5))
d.Categorical(t.ones(4, 2)).log_prob(t.zeros(3))
d.Geometric()
d.Geometric(0.)
d.Geometric(T([0., .5]))
d.Geometric(2.)
d.Multinomial(T(3), ONES)
d.Multinomial(3)
d.Multinomial(3, ONES).mode
d.Multinomial(3, ONES).log_prob(T([1., 3.]))
d.Multinomial(3, ONES).log_prob(T([1., 2., 0.]))
d.NegativeBinomial(-1., T(.5))
d.NegativeBinomial(1., T(1.))
d.NegativeBinomial(1., T(.5)).log_prob(T(-1.))
d.OneHotCategorical(ONES).log_prob(ONES)
d.Poisson(-1.)
d.Poisson(1.).log_prob(T(.5))
d.Poisson(1.).entropy()
d.Beta(-1., 2.)
d.Beta(T([1., 2.]), -1.)
d.Beta(1., 2.).log_prob(T(2.))
d.Dirichlet(T(1.))
d.Dirichlet(-ONES)
d.Dirichlet(ONES).log_prob(T([.5, .6]))
d.RelaxedBernoulli(T(1.))
d.RelaxedBernoulli(T(1.), 2.)
d.RelaxedOneHotCategorical(T(1.), ONES).log_prob(T([.5, .6]))
d.LKJCholesky(1)
d.LKJCholesky(3, -1.)
d.LKJCholesky(3, 1.).log_prob(t.eye(3) * 2)
d.LowRankMultivariateNormal(T(0.), ONES, ONES)
d.LowRankMultivariateNormal(ZEROS, ONES, ONES)
d.LowRankMultivariateNormal(ZEROS, t.ones(3, 1), ONES)
d.LowRankMultivariateNormal(ZEROS, t.ones(2, 1), t.ones(3))
d.LowRankMultivariateNormal(t.zeros(3, 2), t.ones(4, 2, 1), ONES)
d.LowRankMultivariateNormal(ZEROS, t.ones(2, 1), -ONES)
d.MultivariateNormal(T(1.), EYE)
d.MultivariateNormal(ZEROS)
d.MultivariateNormal(ZEROS, ONES)
d.MultivariateNormal(ZEROS, scale_tril=ONES)
d.MultivariateNormal(ZEROS, precision_matrix=ONES)
d.MultivariateNormal(ZEROS, EYE, EYE)
d.MultivariateNormal(ZEROS, scale_tril=-EYE)
d.MultivariateNormal(ZEROS, -EYE)
d.MultivariateNormal(ZEROS, EYE).log_prob(t.zeros(3))
d.MultivariateNormal(ZEROS, EYE).log_prob(T(3.))
d.Wishart(T(1.), EYE)
d.Wishart(T(3.))
d.Wishart(T(3.), ONES)
d.Wishart(T(3.), -EYE)
d.Wishart(T([3., 1.]), EYE)
d.Wishart(T(3.), EYE).log_prob(-EYE)
d.MixtureSameFamily(3, 4)
d.MixtureSameFamily(d.Categorical(ONES), 4)
d.MixtureSameFamily(d.Categorical(ONES), d.Normal(t.zeros(3), 1.))
d.MixtureSameFamily(d.Categorical(t.ones(3, 2)), d.Normal(t.zeros(4, 2), 1.))
d.MixtureSameFamily(d.Categorical(ONES), d.Normal(ZEROS, 1.)).log_prob(T(float('nan')))
d.MixtureSameFamily(d.Categorical(ONES), d.Normal(ZEROS, 1.)).entropy()
d.Independent(d.Normal(0., 1.), 1)
d.Independent(d.Bernoulli(ONES * .5), 1).enumerate_support()
d.Independent(d.Normal(ZEROS, 1.), 1).log_prob(t.zeros(3))
d.Independent(d.Uniform(ZEROS, ONES), 1).cdf(ZEROS)
d.TransformedDistribution(d.Normal(0., 1.), 3)
d.TransformedDistribution(d.Normal(0., 1.), [3])
d.TransformedDistribution(d.Normal(0., 1.), d.StickBreakingTransform())
d.TransformedDistribution(d.Normal(ZEROS, 1.), [d.StickBreakingTransform()]).log_prob(ZEROS)
d.TransformedDistribution(d.Normal(ZEROS, 1.), d.SigmoidTransform()).log_prob(ONES * 2)
d.TransformedDistribution(d.Normal(ZEROS, 1.), d.SigmoidTransform()).mean
d.TransformedDistribution(d.Normal(ZEROS, 1.), d.AbsTransform()).cdf(ONES)
d.transforms.Transform(2)
d.ReshapeTransform((2,), (3,))
d.ReshapeTransform((2,), (2, 1))(t.ones(3))
d.ReshapeTransform((2,), (2, 1)).forward_shape((3,))
d.ReshapeTransform((2,), (2, 1)).forward_shape(())
d.ReshapeTransform((2,), (2, 1)).event_dim
d.StickBreakingTransform().forward_shape(())
d.StickBreakingTransform().sign
d.CorrCholeskyTransform().forward_shape((4,))
d.CorrCholeskyTransform().inverse_shape((4, 3))
d.IndependentTransform(d.ExpTransform(), 1)(T(1.))
d.AbsTransform().log_abs_det_jacobian(1, 1)
d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0, [1, 2])(t.ones(4))
d.CatTransform([d.ExpTransform(), 3], 0, [1, 2])
d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0)(t.ones(3, 3))
d.kl_divergence(d.Normal(0, 1), d.Categorical(ONES))
d.kl_divergence(d.LogNormal(ZEROS, 1.), d.LogisticNormal(ZEROS, 2.))
d.kl_divergence(d.Exponential(ONES), d.Poisson(ONES))
d.kl_divergence(d.MultivariateNormal(ZEROS, EYE), d.MultivariateNormal(t.zeros(3), t.eye(3)))
d.kl_divergence(d.Binomial(T([3, 3]), T(.5)), d.Binomial(T([4, 2]), T(.5)))
d.biject_to(d.constraints.lower_cholesky)
d.biject_to.register(3, lambda c: c)
d.constraints.dependent.check(1)
d.constraints.dependent.event_dim
d.constraints.independent(d.constraints.real, 2).check(ZEROS)
d.constraints.Constraint().check(1)
d.utils.vec_to_tril_matrix(t.arange(5.))
d.utils.tril_matrix_to_vec(EYE, 5)
d.Distribution(validate_args=False).mean
d.Distribution(validate_args=False).mode
d.Distribution(validate_args=False).support
d.Distribution(validate_args=False).expand((2,))
d.Distribution(validate_args=False).sample()
d.Distribution.set_default_validate_args(3)
""".strip().splitlines()


def refusal(t, program: str) -> tuple[str, str]:
    names = {
        "t": t,
        "d": t.distributions,
        "T": t.tensor,
        "ONES": t.ones(2),
        "ZEROS": t.zeros(2),
        "EYE": t.eye(2),
        "float": float,
    }
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:
        warnings.simplefilter("ignore")
        eval(program, names)
    message = str(caught.value).replace("functorch_core.", "")
    return caught.type.__name__.lstrip("_"), re.sub(r"\s+", " ", message)


@pytest.mark.parametrize("program", REFUSED)
def test_refused_alike(program):
    expected, found = (refusal(t, program) for t in BOTH)
    assert found == expected


def test_subclasses():
    for t in BOTH:

        class Shifted(t.distributions.Normal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

        class Renamed(t.distributions.Normal):
            pass

        with pytest.raises(
            NotImplementedError,
            match="Subclass Shifted of Normal that defines a custom __init__ method must also define a custom .expand",
        ):
            Shifted(0.0).expand((2,))
        assert repr(Renamed(0.0, 1.0).expand((2,))) == "Renamed(loc: torch.Size([2]), scale: torch.Size([2]))"


def test_a_distribution_without_constraints_warns():
    for t in BOTH:

        class Bare(t.distributions.Distribution):
            def log_prob(self, value):
                self._validate_sample(value)
                return value

        with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
            bare = Bare()
        with pytest.warns(UserWarning, match="does not define `support`"):
            assert bare.log_prob(t.tensor(1.0)) == 1
        with pytest.raises(NotImplementedError):
            bare.expand((2,))


def test_validation_can_be_turned_off():
    d = ours.distributions
    assert d.Normal(0.0, -1.0, validate_args=False).scale == -1
    d.Distribution.set_default_validate_args(False)
    try:
        assert d.Normal(0.0, -1.0).scale == -1
        with pytest.raises(ValueError):
            d.Normal(0.0, -1.0, validate_args=True)
    finally:
        d.Distribution.set_default_validate_args(True)


def test_sample_n_warns():
    for t in BOTH:
        with pytest.warns(FutureWarning, match=r"Use `sample\(\(n,\)\)` instead"):
            assert t.distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_checks_of_values_that_require_gradients():
    loc = ours.zeros(2, requires_grad=True)
    d = ours.distributions.Normal(loc, 1.0)
    assert d.log_prob(loc * 2).requires_grad
    with pytest.raises(ValueError, match="Expected parameter scale"):
        float(ours.distributions.Normal(loc, loc - 1).mean.sum())
    np.testing.assert_array_equal(d.mean.detach(), [0, 0])


def test_logits_on_the_tape_are_looked_at_when_something_is_read():
    for rows, fine in (([[0.0, 1.0], [2.0, 3.0]], True), ([[0.0, float("nan")], [1.0, 2.0]], False)):
        logits = ours.tensor(rows, requires_grad=True)
        one = ours.distributions.Independent(ours.distributions.Normal(ours.zeros(2, 2), 1.0), 2)
        told = [lambda: ours.distributions.Categorical(logits=logits * 1).sample(), lambda: one.log_prob(logits * 1)]
        for read in told:
            if fine:
                assert read().tolist() is not None
            else:
                with pytest.raises(ValueError, match="Expected (parameter logits|value argument)"):
                    read().tolist()


WHOLE = """
d.Categorical(t.ones(3)).log_prob(T([0., 2.]))
d.Categorical(t.ones(3)).log_prob(T([0., .5]))
d.Categorical(t.ones(3)).log_prob(t.tensor([0, 3]))
d.Categorical(t.ones(3)).log_prob(t.tensor([-1, 0]))
d.Categorical(t.ones(3)).log_prob(t.tensor([2, 0], dtype=t.int32))
d.Poisson(1.).log_prob(T(1.5))
d.Poisson(1.).log_prob(t.tensor(-1))
d.Poisson(1.).log_prob(t.tensor(2))
d.constraints.nonnegative_integer.check(t.tensor([True, False]))
d.constraints.integer_interval(0, 2).check(t.tensor([0, 3, -1], dtype=t.int8))
""".strip().split("\n")


@pytest.mark.parametrize("program", WHOLE)
def test_whole_numbers(program):
    told = []
    for t in BOTH:
        names = {"t": t, "d": t.distributions, "T": lambda x, t=t: t.tensor(x)}
        try:
            told.append(eval(program, names).tolist())
        except ValueError as error:
            told.append(str(error))
    if isinstance(told[1], str):
        assert told[0] == told[1]
    else:
        np.testing.assert_allclose(told[0], told[1], rtol=1e-6)


VECTORS = {
    "nan logits": lambda lib: lib.distributions.Categorical(logits=lib.tensor([[0.0, float("nan")], [1.0, 2.0]])),
    "negative": lambda lib: lib.distributions.Categorical(lib.tensor([[0.5, 0.5], [1.5, -0.5]])),
    "recorded": lambda lib: lib.distributions.Categorical(probs=lib.tensor([1.0, -2.0]) * 2),
    "block": lambda lib: lib.distributions.Independent(lib.distributions.Normal(lib.zeros(2, 3), 1.0), 2).log_prob(
        lib.tensor([[1.0, 2.0, float("nan")], [1.0, 1.0, 1.0]])
    ),
    "fine": lambda lib: lib.distributions.Dirichlet(lib.ones(2, 3)).log_prob(lib.full((2, 3), 1 / 3)),
    "no simplex": lambda lib: lib.distributions.Dirichlet(lib.ones(3)).log_prob(lib.tensor([0.5, 0.25, 0.5])),
    "boundary": lambda lib: lib.distributions.constraints.independent(
        lib.distributions.constraints.unit_interval, 2
    ).check(lib.tensor([[[0.0, 1.0], [0.5, 2.0]], [[0.0, 1.0], [0.5, 0.5]]])),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_validated_as_in_pytorch(name):
    def told(lib):
        try:
            made = VECTORS[name](lib)
        except ValueError as error:
            return str(error)
        return made.tolist()

    mine, theirs = told(ours), told(reference)
    assert mine == theirs if isinstance(theirs, str) else np.allclose(mine, theirs)
