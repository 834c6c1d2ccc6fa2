"""The order in memory of the results of PyTorch's ops, of operands whose dimensions lie in another order: images
channels-last, others with their last two dimensions exchanged."""

from __future__ import annotations

import itertools

import pytest

real = pytest.importorskip(
    "torch", reason="the conformance tests need the real PyTorch: pip install -e '.[conformance]'"
)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from functorch_core import torch  # noqa: E402

from .bridge import function_of, tensors_in, to_ours  # noqa: E402
from .test_autocast import mapped  # noqa: E402

SAMPLES = 3
FAMILIES = 4

# Contiguous here, by columns in PyTorch: what LAPACK writes, and loops over the last dimension.
BY_COLUMNS = """addr cholesky cholesky_inverse cholesky_solve geqrf kron linalg.cholesky linalg.cholesky_ex linalg.eig
    linalg.eigh linalg.householder_product linalg.inv linalg.inv_ex linalg.ldl_factor linalg.ldl_factor_ex
    linalg.ldl_solve linalg.lstsq linalg.lstsq.grad_oriented linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve
    linalg.qr linalg.solve linalg.solve_ex linalg.solve_triangular linalg.tensorinv lu lu_solve ormqr pca_lowrank
    pinverse qr stft svd_lowrank triangular_solve""".split()
# Of a batch of one dimension, or of an example without a batch, PyTorch makes channels-last images.
UNBATCHED = """adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d interpolate.area local_response_norm max_pool1d max_unpool3d max_unpool3d.grad normalize
    pixel_unshuffle""".split()
# Made of several ops, or of views.
COMPOSED = """_softmax_backward_data _unsafe_masked_index_put_accumulate argwhere as_strided_scatter diagonal_scatter
    float mvlgamma.mvlgamma_p_1 mvlgamma.mvlgamma_p_3 mvlgamma.mvlgamma_p_5 nonzero select_scatter slice_scatter
    squeeze.multiple stack""".split()
# The transforms of torch.fft and the polynomials of torch.special, which give contiguous results here.
CONTIGUOUS = ("fft.", "special.")
EXCEPTIONS = {*BY_COLUMNS, *(f"nn.functional.{name}" for name in UNBATCHED), *COMPOSED}

OPS = {
    name: op
    for op in op_db
    if real.float32 in op.dtypes
    and (name := f"{op.name}.{op.variant_test_name}".rstrip(".")) not in EXCEPTIONS
    and not name.startswith(CONTIGUOUS)
}


def turned(x):
    """An equal tensor whose dimensions lie in another order."""
    library = torch if isinstance(x, torch.Tensor) else real
    if x.ndim in (4, 5):
        return x.to(memory_format=library.channels_last if x.ndim == 4 else library.channels_last_3d)
    return x.transpose(-1, -2).contiguous().transpose(-1, -2) if x.ndim > 1 else x


def strides(fun, args, kwargs) -> list:
    return [(tuple(x.shape), tuple(x.stride())) for x in tensors_in(fun(*args, **kwargs))]


def different(op) -> list:
    """(our shapes and strides, PyTorch's) of the samples that both compute."""
    fun, found = function_of(op), []
    samples = itertools.islice(op.sample_inputs("cpu", real.float32), SAMPLES if fun is not None else 0)
    for sample in samples:
        args = (sample.input, *sample.args), sample.kwargs
        try:
            wanted = strides(op.op, *mapped(args, turned))
            given = strides(fun, *mapped(to_ours(args), turned))
        except Exception:  # what computes and what does not is test_ops' matter
            continue
        if given != wanted:
            found.append((given, wanted))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", range(FAMILIES))
def test_strides_of_results(family):
    wrong = {name: found for name in sorted(OPS)[family::FAMILIES] if (found := different(OPS[name]))}
    assert not wrong
