"""torch.special: special functions under the names of SciPy."""

from ..dispatch.op import named_apart as _named_apart
from ..dispatch.op import registry as _registry
from ..operators.pointwise.functions import erf, erfc, erfinv, exp2, expm1, log1p, logit, round, sinc, xlogy
from ..operators.pointwise.functions import sigmoid as expit
from ..operators.pointwise.polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from ..operators.pointwise.special import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    digamma,
    entr,
    erfcx,
    gammainc,
    gammaincc,
    i0,
    i0e,
    i1,
    i1e,
    log_ndtr,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    ndtr,
    ndtri,
    polygamma,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
    xlog1py,
    zeta,
)
from ..operators.pointwise.special import digamma as psi
from ..operators.pointwise.special import lgamma as gammaln
from ..operators.pointwise.special import mvlgamma as multigammaln
from ..operators.reduce.reduction import logsumexp
from ..tensors.active import overridable as _overridable


@_overridable
def softmax(input, dim, *, dtype=None):
    """exp(input) over its sum along dim.

    >>> torch.special.softmax(torch.zeros(4), 0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return _registry["softmax"](input, dim, dtype=dtype)


@_overridable
def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax along dim.

    >>> torch.special.log_softmax(torch.zeros(4), 0)
    tensor([-1.3863, -1.3863, -1.3863, -1.3863])
    """
    return _registry["log_softmax"](input, dim, dtype=dtype)


# What torch has too is another function here, as in PyTorch.
for _name in """digamma erf erfc erfinv exp2 expit expm1 gammaln i0 log1p logit logsumexp multigammaln polygamma psi
    round sinc xlogy""".split():
    globals()[_name] = _named_apart(globals()[_name], f"special_{_name}")
