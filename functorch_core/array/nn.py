"""Activations, normalisation, attention, losses, convolution, and special functions of Arrays."""

from __future__ import annotations

from ..ops import nn as ops
from ..ops import special
from .expose import public

# ---- special functions ---------------------------------------------------------------------------

deg2rad = public(special.deg2rad)
digamma = public(special.digamma)
erf = public(special.erf)
erf_inv = public(special.erf_inv)
erfc = public(special.erfc)
igamma = public(special.igamma)
igammac = public(special.igammac)
lgamma = public(special.lgamma)
logit = public(special.logit)
rad2deg = public(special.rad2deg)
sinc = public(special.sinc)
xlogy = public(special.xlogy)

# ---- activations ---------------------------------------------------------------------------------

celu = public(ops.celu)
elu = public(ops.elu)
gelu = public(ops.gelu)
glu = public(ops.glu)
hard_sigmoid = public(ops.hard_sigmoid)
hard_silu = hard_swish = public(ops.hard_silu)
hard_tanh = public(ops.hard_tanh)
identity = public(ops.identity)
leaky_relu = public(ops.leaky_relu)
log1mexp = public(ops.log1mexp)
log_sigmoid = public(ops.log_sigmoid)
mish = public(ops.mish)
relu = public(ops.relu)
relu6 = public(ops.relu6)
selu = public(ops.selu)
sigmoid = public(ops.sigmoid)
silu = swish = public(ops.silu)
soft_sign = public(ops.soft_sign)
softplus = public(ops.softplus)
sparse_plus = public(ops.sparse_plus)
sparse_sigmoid = public(ops.sparse_sigmoid)
squareplus = public(ops.squareplus)

# ---- over axes -----------------------------------------------------------------------------------

dot_product_attention = public(ops.dot_product_attention)
layer_norm = public(ops.layer_norm)
log_softmax = public(ops.log_softmax)
one_hot = public(ops.one_hot)
rms_norm = public(ops.rms_norm)
softmax = public(ops.softmax)
standardize = public(ops.standardize)

# ---- losses --------------------------------------------------------------------------------------

sigmoid_binary_cross_entropy = public(ops.sigmoid_binary_cross_entropy)
softmax_cross_entropy = public(ops.softmax_cross_entropy)
softmax_cross_entropy_with_integer_labels = public(ops.softmax_cross_entropy_with_integer_labels)

# ---- convolution and pooling ---------------------------------------------------------------------

avg_pool = public(ops.avg_pool)
conv = public(ops.conv)
max_pool = public(ops.max_pool)
