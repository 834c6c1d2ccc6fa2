"""jax.nn's names: `from functorch_core import jnn`.

These are fc's own functions. The module is not called nn because functorch_core.nn is PyTorch's,
of modules with parameters.
"""

from functorch_core import (
    celu,
    dot_product_attention,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    log1mexp,
    log_sigmoid,
    log_softmax,
    logmeanexp,
    logsumexp,
    mish,
    one_hot,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    soft_sign,
    softmax,
    softplus,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    standardize,
    swish,
    tanh,
)

from ..array.compose import missing_name as _missing_name
from . import initializers

__getattr__ = _missing_name(
    "jnn",
    {
        "scaled_matmul scaled_dot_general get_scaled_dot_general_config": "Products of block-scaled narrow floats are "
        "not there: convert, multiply by the scales, then fc.matmul.",
        "normalize": "Use jnn.standardize.",
        "Module Linear Conv2d": "Modules are in functorch_core.nn, as PyTorch has them.",
    },
)
