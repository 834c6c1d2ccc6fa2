"""Many gamma, Dirichlet and Poisson samples at once against real PyTorch: the same bits, and the same state after."""

import numpy as np
import pytest

from functorch_core import torch as ours
from functorch_core.torch.operators import random as engine
from functorch_core.torch.operators.random import gamma_walk, gammas, generator, rejection

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="PyTorch's kernels for other processors round otherwise (they draw the same bits)",
)

SHAPES = [(), (0,), (1,), (7,), (1000,), (3, 129), (70_000,)]
DTYPES = [np.float32, np.float64]
PARAMETERS = {
    "below 1": lambda r, shape: r.rand(*shape),
    "about 1": lambda r, shape: r.rand(*shape) + 0.5,
    "above 1": lambda r, shape: 100 * r.rand(*shape) + 1,
    "wide": lambda r, shape: 10 ** (7 * r.rand(*shape) - 3),
    "wider": lambda r, shape: 10 ** (36 * r.rand(*shape) - 18),
    "one below 1": lambda r, shape: np.full(shape, 0.3),
    "one above 1": lambda r, shape: np.full(shape, 12.0),
    "with zeros": lambda r, shape: 20 * r.rand(*shape) * (r.rand(*shape) < 0.7),
    "sorted": lambda r, shape: np.sort(3 * r.rand(*shape), axis=None).reshape(shape),
    "zeros": lambda r, shape: np.zeros(shape),
}


def check(draw, theirs, parameters, seed, normals=0):
    """Both draw by these parameters after so many normals, then the same again, uniforms and normals."""
    mine, generator = engine.Mt19937Generator(seed), torch.Generator().manual_seed(seed)
    engine.normal(mine, normals, "f4"), torch.randn(normals, generator=generator)
    tensor = torch.from_numpy(np.asarray(parameters))
    for _ in range(2):
        found, expected = draw(mine, parameters), theirs(tensor, generator=generator).numpy()
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
        np.testing.assert_array_equal(mine.get_state(), generator.get_state().numpy())
    for n in (3, 40):
        assert (engine.normal(mine, n, "f4") == torch.randn(n, generator=generator).numpy()).all()
        assert (engine.uniform(mine, n, "f4") == torch.rand(n, generator=generator).numpy()).all()


def parameters_of(kind, seed, shape, dtype):
    return np.asarray(PARAMETERS[kind](np.random.RandomState(seed), shape), dtype)


kinds = pytest.mark.parametrize("kind", PARAMETERS)
dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)


@kinds
@dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gamma(shape, dtype, kind):
    for normals in (0, 3):
        check(
            engine.standard_gamma, torch._standard_gamma, parameters_of(kind, 0, shape, dtype), seed=1, normals=normals
        )


@kinds
@dtypes
def test_gamma_of_many_seeds(dtype, kind):
    for seed in range(40):
        alpha = parameters_of(kind, seed, (gammas.MANY + 50 * seed,), dtype)
        check(engine.standard_gamma, torch._standard_gamma, alpha, seed, normals=seed % 4)


@pytest.mark.parametrize("shape", [(300, 2), (100, 7), (4, 9000), (2, 3, 500), (9, 1), (0, 3), (20_000, 2)], ids=str)
def test_dirichlet(shape):
    for seed, scale in enumerate((1, 5, 0.01)):
        alpha = (scale * np.random.RandomState(seed).rand(*shape)).astype(np.float32)
        check(engine.dirichlet, torch._sample_dirichlet, alpha, seed, normals=seed)


@kinds
@dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_poisson(shape, dtype, kind):
    rates = np.minimum(parameters_of(kind, 0, shape, dtype), dtype(1e6))
    for normals in (0, 3):
        check(engine.poisson, torch.poisson, rates, seed=1, normals=normals)


@kinds
def test_poisson_of_many_seeds(kind):
    for seed in range(40):
        rates = parameters_of(kind, seed, (rejection.MANY + 50 * seed,), np.float64)
        check(engine.poisson, torch.poisson, np.minimum(rates, 1e6), seed, normals=seed % 4)


@pytest.mark.parametrize("rate", [10.0, 11.5, 300.0, 1e6])
def test_poisson_of_one_rate(rate):
    for seed in range(10):
        check(engine.poisson, torch.poisson, np.full(3000, rate), seed)


def test_too_few_uniforms_are_drawn_again(monkeypatch):
    """What is expected of the uniforms is no limit."""
    peek, asked = generator.Stretch.peek, []

    def less(self, n):
        if n < 200:
            return peek(self, n)
        asked.append(n)
        return peek(self, n)[: n // 2] if len(asked) % 2 else peek(self, 4 * n)

    monkeypatch.setattr(generator.Stretch, "peek", less)
    alpha = parameters_of("about 1", 0, (1000,), np.float32)
    check(engine.standard_gamma, torch._standard_gamma, alpha, seed=0)
    check(engine.poisson, torch.poisson, alpha, seed=0)
    assert len(asked) == 8


def test_numbers_next_to_a_rounding_boundary_are_computed_exactly(monkeypatch):
    """Where the bounds of a number round to different float32."""
    exact, calls = gammas.exact_gammas, []
    monkeypatch.setattr(gammas, "exact_gammas", lambda *args: calls.append(args) or exact(*args))
    quick = gammas.quick_gammas
    monkeypatch.setattr(gammas, "quick_gammas", lambda *args: (quick(*args)[0], quick(*args)[1] * 1e6))
    check(engine.standard_gamma, torch._standard_gamma, parameters_of("about 1", 0, (1000,), np.float32), seed=0)
    assert calls


@kinds
def test_errors_of_quick_numbers(kind):
    """They are a tenth of their bounds at most."""
    alpha = parameters_of(kind, 0, (5000,), np.float64)
    alpha = alpha[alpha > 1e-2]
    if not alpha.size:
        return
    shapes, mine = gammas._shapes(alpha), engine.Mt19937Generator(0)
    found, uniforms = gamma_walk.walk(mine, generator.Stretch(mine), shapes)
    exact = gamma_walk.exact_gammas(found, uniforms, shapes)
    numbers, errors = gamma_walk.quick_gammas(found, uniforms, shapes)
    assert (np.abs(numbers - exact) <= 0.1 * errors * exact).all()


def test_thresholds_hold():
    """A trial that all d of a range accept, or reject, is accepted or rejected by d's of the range."""
    r = np.random.RandomState(0)
    for low, high in ((0, 0), (0, 9), (5, 60), (100, 101)):
        accepts, rejects = gamma_walk._thresholds(low, high)
        edges = gamma_walk._LEAST * gamma_walk._RATIO ** np.array([low, high + 1])
        u1, u2, u = r.rand(3, 4000)
        for a, b, c in zip(u1.tolist(), u2.tolist(), u.tolist()):
            x = gamma_walk._normal(a, b, sine=False)
            at = int((x / gamma_walk._LARGEST + 1) * gamma_walk._BINS / 2)
            code = gamma_walk._decided(float(edges[0] + (edges[1] - edges[0]) * r.rand()), a, b, False, c)
            if 1 - c < accepts[at]:
                assert code == gamma_walk.ACCEPTED
            if 1 - c > rejects[at]:
                assert code == gamma_walk.REJECTED


@pytest.mark.parametrize("name, parameters", [("Gamma", (0.7, 2.0)), ("Beta", (0.7, 2.0)), ("Poisson", (3.5,))])
def test_distributions(name, parameters):
    """The numbers of distributions, and those of the default generator after them."""
    drawn = []
    for lib in (ours, torch):
        lib.manual_seed(3)
        lib.randn(3)
        sample = getattr(lib.distributions, name)(*map(lib.tensor, parameters)).sample((400, 3))
        drawn.append([x.tolist() for x in (sample, lib.randn(3), lib.rand(3))])
    assert drawn[0] == drawn[1]
