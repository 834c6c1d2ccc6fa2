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
from functorch_core import einsum as _einsum
from functorch_core import repeat as _repeat

from ..array.compose import composed as _composed
from ..array.compose import missing_name as _missing_name
from . import initializers
from .scaled import get_scaled_dot_general_config, scaled_dot_general

__getattr__ = _missing_name(
    "jnn",
    {
        "normalize": "Use jnn.standardize.",
        "Module Linear Conv2d": "Modules are in functorch_core.nn, as PyTorch has them.",
    },
)


@_composed("lhs rhs lhs_scales rhs_scales", space="fc.jnn")
def scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, preferred_element_type=None):
    """lhs [B, M, K] times rhs [B, N, K], each times its scales, of which one is for K / (its last size) elements.

    >>> import functorch_core as fc
    >>> from functorch_core import jnn
    >>> jnn.scaled_matmul(fc.ones((1, 1, 4)), fc.ones((1, 1, 4)), fc.asarray([[[1., 3.]]]), fc.ones((1, 1, 1)))
    Array([[[8.]]], dtype=float32)
    """

    def scaled(x, scales):
        if x.shape[-1] % scales.shape[-1]:
            raise ValueError(f"scaled_matmul: {scales.shape[-1]} scales do not divide {x.shape[-1]} elements")
        x, scales = x.astype("float32"), scales.astype("float32")
        return x * _repeat(scales, x.shape[-1] // scales.shape[-1], axis=-1)

    out = _einsum("bmk,bnk->bmn", scaled(lhs, lhs_scales), scaled(rhs, rhs_scales))
    return out if preferred_element_type is None else out.astype(preferred_element_type)
