"""PyTorch's own samples on the meta device: shapes, dtypes and, mostly, strides are PyTorch's."""

from __future__ import annotations

import warnings

import pytest

real = pytest.importorskip(
    "torch", reason="the conformance tests need the real PyTorch: pip install -e '.[conformance]'"
)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from functorch_core import engine  # noqa: E402
from functorch_core import torch as ours  # noqa: E402

from . import samples  # noqa: E402
from .bridge import function_of, tensors_in, to_ours  # noqa: E402
from .test_ops import listed  # noqa: E402

OPS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}
SAMPLES = 2

pytestmark = pytest.mark.filterwarnings("ignore")

# What LAPACK and the FFT leave lies in another order of memory here, on every device.
OTHER_ORDER = ("cholesky", "fft.", "geqrf", "linalg.", "lu", "ormqr", "qr", "svd", "triangular_solve")
OTHER_STRIDES = frozenset(
    """nanquantile nn.functional.max_unpool2d nn.functional.max_unpool2d.grad
    quantile unravel_index unsafe_chunk""".split()
)
# Without running statistics in use PyTorch has none to return on the CPU, but on meta.
OTHER_SHAPES = frozenset(["_native_batch_norm_legit", "native_batch_norm"])


def on_meta(library, x):
    """The tensors of an argument, on the meta device with the same strides."""
    if isinstance(x, library.Tensor):
        made = library.empty_strided(tuple(x.shape), x.stride(), dtype=x.dtype, device="meta")
        return made.requires_grad_(x.requires_grad)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(on_meta(library, y) for y in x))
    if isinstance(x, library.Size):
        return x
    if isinstance(x, (list, tuple)):
        return type(x)(on_meta(library, y) for y in x)
    if isinstance(x, dict):
        return {k: on_meta(library, v) for k, v in x.items()}
    return library.device("meta") if isinstance(x, library.device) else x


def described(result, strides: bool) -> list:
    """What the tensors of a result are."""
    return [
        (tuple(x.shape), str(x.dtype), x.device.type, x.stride() if strides and 0 not in x.shape else None)
        for x in tensors_in(result)
    ]


def gradients(library, result, arguments) -> list:
    """Those of the arguments, zeros where there is none."""
    roots = [y for y in tensors_in(result) if y.requires_grad]
    leaves = [x for x in tensors_in(arguments) if x.requires_grad]
    if not roots or not leaves:
        return []
    found = library.autograd.grad(roots, leaves, [library.empty_like(y) for y in roots], allow_unused=True)
    return [library.empty_like(x) if g is None else g for x, g in zip(leaves, found)]


def compare(name: str, sample):
    """AssertionError unless a sample gives on meta what it gives with PyTorch; True if PyTorch can
    do it at all."""
    op = OPS[name]
    given = [(sample.input, *sample.args), dict(sample.kwargs)]
    their_args, their_kwargs = on_meta(real, given)
    our_args, our_kwargs = on_meta(ours, [to_ours(x) for x in given])
    strides = not name.startswith(OTHER_ORDER) and name not in OTHER_STRIDES
    strides = strides and all(x.is_contiguous() for x in tensors_in(given))
    try:
        wanted = op.op(*their_args, **their_kwargs)
        wanted_grads = gradients(real, wanted, [their_args, their_kwargs])
    except (NotImplementedError, RuntimeError):  # no kernel, or the elements are needed
        return False
    found = function_of(op)(*our_args, **our_kwargs)
    assert described(found, strides) == described(wanted, strides)
    found_grads = gradients(ours, found, [our_args, our_kwargs])
    assert described(found_grads, False) == described(wanted_grads, False)
    return True


@pytest.mark.parametrize("name", listed("passing.txt"))
def test_op(name):
    if name in OTHER_SHAPES:
        pytest.skip("PyTorch's meta kernel differs from its CPU kernel")
    op, dtype = OPS[name], samples.dtype_of(OPS[name])
    grad = op.supports_autograd and dtype in (real.float32, real.complex64)
    given = [x for x, _ in zip(op.sample_inputs("cpu", dtype, requires_grad=grad), range(SAMPLES))]
    if any(x.layout is not real.strided for s in given for x in tensors_in([s.input, *s.args])):
        pytest.skip("not strided")
    engine.flush()
    before = engine.stats()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compared = [compare(name, sample) for sample in given]
    after = engine.stats()
    assert after["compiles"] == before["compiles"]
    if not any(compared):
        pytest.skip("PyTorch cannot do it on meta")
