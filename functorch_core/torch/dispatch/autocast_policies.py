"""Which ops autocast computes in which precision, by the names of the ops: PyTorch's lists."""

LOSSES = (
    "_binary_cross_entropy _cosine_embedding _cross_entropy _ctc _hinge_embedding "
    "_huber_loss _l1_loss _margin_ranking _mse_loss _multi_margin _multilabel_margin "
    "_nll_loss _poisson_nll _smooth_l1_loss _soft_margin _triplet _bce_with_logits kl_div"
)

# Computed in the low precision.
LOW_CPU = frozenset(
    (
        "_attention _chain _einsum _tensordot addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc "
        "conv_transpose1d conv_transpose2d conv_transpose3d convolution linalg_vecdot linear matmul mm "
        "prelu"
    ).split()
)
LOW_CUDA = LOW_CPU - {"_tensordot", "linalg_vecdot"} | frozenset("addmv addr mv linalg_multi_dot".split())

# Computed in float32.
FULL_CUDA = frozenset(
    (
        LOSSES + " _norm _vector_norm acos asin cdist cosh cosine_similarity "
        "cumprod cumsum dist erfinv exp expm1 group_norm layer_norm log log10 "
        "log1p log2 log_softmax logsumexp norm pdist pow prod reciprocal renorm "
        "_renormed "
        "rsqrt sinh softmax softplus sum tan _normalized native_layer_norm "
        "native_group_norm"
    ).split()
)
FULL_CPU = frozenset(
    (
        LOSSES + " adaptive_avg_pool3d avg_pool3d cdist cholesky cholesky_inverse cholesky_solve "
        "fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft "
        "fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn geqrf grid_sampler inverse linalg_cholesky "
        "linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh "
        "linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_norm "
        "linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv "
        "linalg_tensorsolve lu_solve max_pool3d _max_unpool nanquantile orgqr ormqr pinverse polar "
        "prod quantile _quantile _nanquantile stft svd trace triangular_solve view_as_complex"
    ).split()
)

# Computed in the widest precision among the operands.
WIDEST_CPU = frozenset("cat stack index_copy".split())
WIDEST_CUDA = frozenset(
    "_index_put addcdiv addcmul atan2 bilinear cross dot grid_sampler scatter_add cat stack _tensordot vdot".split()
)
