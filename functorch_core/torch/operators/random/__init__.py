"""Random numbers drawn exactly as PyTorch's CPU generator draws them; NumPy arrays only.

Every draw takes the generator first and returns a new contiguous array.
"""

from .discrete import bernoulli, dropout_mask, multinomial
from .gammas import dirichlet, standard_gamma
from .generator import DEFAULT_SEED, Mt19937Generator
from .initializers import trunc_normal
from .normals import log_normal, normal, normal_at, normal_from_arrays
from .rejection import binomial, poisson
from .transforms import cauchy, exponential, geometric
from .uniforms import integers_at, randint, random_full_range, randperm, rrelu_noise, uniform, uniform_at

__all__ = [
    "DEFAULT_SEED",
    "Mt19937Generator",
    "bernoulli",
    "binomial",
    "cauchy",
    "dirichlet",
    "dropout_mask",
    "exponential",
    "geometric",
    "integers_at",
    "log_normal",
    "multinomial",
    "normal",
    "normal_at",
    "normal_from_arrays",
    "poisson",
    "randint",
    "random_full_range",
    "randperm",
    "rrelu_noise",
    "standard_gamma",
    "trunc_normal",
    "uniform",
    "uniform_at",
]
