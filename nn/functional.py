"""torch.nn.functional: the layers as functions."""

from importlib import import_module as _import_module
from sys import modules as _modules

from ..torch.compat.public_names import name_ops as _name_ops
from ..torch.operators.linalg.distances import cosine_similarity, normalize, pairwise_distance, pdist
from ..torch.operators.linalg.matmul import bilinear, linear
from ..torch.operators.nn.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from ..torch.operators.nn.attention import multi_head_attention_forward, scaled_dot_product_attention
from ..torch.operators.nn.conv import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from ..torch.operators.nn.ctc import ctc_loss
from ..torch.operators.nn.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    l1_loss,
    linear_cross_entropy,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from ..torch.operators.nn.norm import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, rms_norm
from ..torch.operators.nn.other import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    embedding,
    embedding_bag,
    feature_alpha_dropout,
    one_hot,
)
from ..torch.operators.nn.pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from ..torch.operators.nn.ranking import (
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    kl_div,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ..torch.operators.nn.resize import interpolate, upsample, upsample_bilinear, upsample_nearest
from ..torch.operators.nn.unpool import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from ..torch.operators.nn.vision import (
    affine_grid,
    channel_shuffle,
    fold,
    grid_sample,
    pad,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
)
from ..torch.tensors.active import active as _active

_active.functional = _modules[__name__]
_threshold = threshold  # what PyTorch's pickles call it
_name_ops()


def __getattr__(name: str):
    if name == "grad":  # torch.nn.grad, which is written with these functions
        return _import_module("..grad", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
