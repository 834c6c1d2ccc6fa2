"""Numbers that JAX draws, for the same keys.

    JAXPYTHON tests/array/jax_random.py     writes jax_random.npz anew, with a Python that has JAX

Each case is an expression of `r` (jax.random), the key `k`, numpy (`np`) and dtypes. Those that name float64 or
int64 are drawn with 64 bits on, all others with JAX's default, 32 bits.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("jax_random.npz")
CASES = """
r.key_data(r.key(7))
r.key_data(r.split(r.key(7), (2, 3)))
r.key_data(r.fold_in(r.key(7), 5))
r.bits(k, (5,))
r.bits(k, (5,), 'uint8')
r.bits(k, (2, 3), 'uint16')
r.uniform(k, (5,), 'float32')
r.uniform(k, (5,), 'float32', -2.0, 3.0)
r.uniform(k, (5,), 'float16')
r.uniform(k, (5,), 'float64')
r.normal(k, (2, 5))
r.normal(k, (5,), 'float64')
r.normal(k, (5,), 'complex64')
r.randint(k, (6,), 0, 10)
r.randint(k, (6,), -5, 2**31 - 1)
r.randint(k, (6,), -5, 1000, 'int32')
r.randint(k, (6,), 0, 10, 'int8')
r.randint(k, (6,), 0, 256, 'uint8')
r.randint(k, (6,), 0, 10**15, 'int64')
r.randint(k, (3,), np.int32([0, 5, -9]), np.int32([9, 5, 12]))
r.permutation(k, 10)
r.permutation(k, np.arange(5000, dtype='int32'))
r.permutation(k, np.arange(12.0, dtype='float32').reshape(4, 3))
r.permutation(k, np.arange(12, dtype='int32').reshape(4, 3), 1, True)
r.choice(k, 10, (4,))
r.choice(k, np.float32([3, 1, 4]), (4,))
r.choice(k, 10, (4,), replace=False)
r.choice(k, 4, (9,), p=np.float32([0.1, 0.2, 0.3, 0.4]))
r.choice(k, 4, (3,), replace=False, p=np.float32([0.1, 0.2, 0.3, 0.4]))
r.bernoulli(k, 0.3, (9,))
r.rademacher(k, (9,))
r.categorical(k, np.float32([[0, 1, 2], [2, 1, 0]]))
r.categorical(k, np.float32([0, 1, 2]), shape=(7,))
r.gumbel(k, (5,))
r.exponential(k, (5,))
r.laplace(k, (5,))
r.logistic(k, (5,))
r.cauchy(k, (5,))
r.truncated_normal(k, -1.0, 1.0, (5,))
r.gamma(k, 2.5, (5,))
r.gamma(k, np.float32([0.1, 0.7, 1.0, 30.0]))
r.gamma(k, 0.5, (5,), 'float64')
r.loggamma(k, 0.01, (5,))
r.beta(k, 2.0, 0.3, (5,))
r.dirichlet(k, np.float32([1, 2, 3]), (2,))
r.chisquare(k, 3.0, (5,))
r.t(k, 3.0, (5,))
r.f(k, 3.0, 4.0, (5,))
r.generalized_normal(k, 1.5, (5,))
r.ball(k, 3, shape=(2,))
r.poisson(k, 3.5, (8,))
r.poisson(k, 50.0, (8,))
r.poisson(k, 11.0, (40,))
r.poisson(k, np.float32([1, 30, 11, 5, 300, 40, 12, 15]), (4, 8))
r.binomial(k, 10.0, 0.3, (8,))
r.binomial(k, 300.0, 0.7, (8,))
r.binomial(k, 30.0, 0.4, (40,))
r.binomial(k, np.float32([3, 30, 40, 5, 300, 40, 12, 35]), 0.4, (4, 8))
r.geometric(k, 0.3, (8,))
r.multivariate_normal(k, np.zeros(2, 'f'), np.float32([[2, 0.5], [0.5, 1]]), (3,))
r.orthogonal(k, 3)
r.lognormal(k, 0.5, (5,))
r.pareto(k, 2.0, (5,))
r.rayleigh(k, 2.0, (5,))
r.weibull_min(k, 2.0, 3.0, (5,))
r.triangular(k, 0.0, 1.0, 3.0, (5,))
r.wald(k, 2.0, (5,))
r.maxwell(k, (5,))
r.double_sided_maxwell(k, 1.0, 2.0, (5,))
r.key_data(r.split(r.key(7, impl='rbg'), 3))
r.key_data(r.fold_in(r.key(7, impl='rbg'), 5))
r.normal(r.key(7, impl='rbg'), (2, 3))
r.bits(r.key(7, impl='rbg'), (5,), 'uint8')
r.key_data(r.split(r.key(7, impl='unsafe_rbg'), (2, 2)))
r.key_data(r.fold_in(r.key(7, impl='unsafe_rbg'), 5))
r.uniform(r.key(7, impl='unsafe_rbg'), (5,))
""".strip().splitlines()


def write():
    """The numbers of all cases, as JAX draws them."""
    import jax

    out = {"cases": np.array(CASES)}
    for n, case in enumerate(CASES):
        jax.config.update("jax_enable_x64", "64'" in case.replace("complex64'", ""))
        out[str(n)] = np.asarray(eval(case, {"r": jax.random, "k": jax.random.PRNGKey(42), "np": np}))
    np.savez_compressed(FILE, **out)


if __name__ == "__main__":
    write()
