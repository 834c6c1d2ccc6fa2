"""No samples at all: what is on the tape, and the shapes of gradients, are PyTorch's.

The samples of PyTorch's database with nothing along the first dimension: of every tensor, and of those whose first
dimension is as long as the first tensor's. What PyTorch refuses is left out.
"""

from __future__ import annotations

import itertools

import pytest

real = pytest.importorskip("torch", reason="the conformance tests need the real PyTorch")

from functorch_core import torch as ours  # noqa: E402

from .bridge import tensors_in  # noqa: E402
from .samples import Pair, dtype_of  # noqa: E402
from .test_ops import OPS, listed  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

SAMPLES = 6
# Besides sample.txt: of some others PyTorch's own kernels crash without samples.
FURTHER = """
    cdist diag diff embedding_bag index_select kthvalue linalg.solve linalg.svd logcumsumexp max.reduction_with_dim
    median min.reduction_with_dim mode msort nanmedian native_layer_norm nn.functional.adaptive_avg_pool2d
    nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d nn.functional.avg_pool2d
    nn.functional.batch_norm nn.functional.conv2d nn.functional.cross_entropy nn.functional.embedding_bag
    nn.functional.group_norm nn.functional.interpolate.bilinear nn.functional.linear nn.functional.max_pool2d
    nn.functional.mse_loss nn.functional.scaled_dot_product_attention nn.functional.softmax prod scatter_add
    segment_reduce.lengths segment_reduce.offsets sort sum topk unfold where""".split()
# Nodes that PyTorch leaves out where nothing is computed, and a matrix that depends on no number.
DIFFERENT = frozenset({"diff", "lu_unpack", "nn.functional.local_response_norm"})


def differentiable(name: str) -> bool:
    op = OPS[name]
    return op.supports_autograd and op.dtypes and dtype_of(op) in (real.float32, real.complex64)


def cut(x, length: int | None, made: dict):
    """An argument with tensors of that length (None: of any) cut to nothing."""
    if isinstance(x, real.Tensor):
        if id(x) not in made:
            short = x.ndim and length in (None, x.shape[0])
            made[id(x)] = x.detach()[:0].clone().requires_grad_(x.requires_grad) if short else x
        return made[id(x)]
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(cut(y, length, made) for y in x)
    return {k: cut(v, length, made) for k, v in x.items()} if isinstance(x, dict) else x


def cut_samples(op):
    """The samples of an entry, each cut in both ways."""
    samples = op.sample_inputs("cpu", dtype_of(op), requires_grad=True)
    for sample in itertools.islice(samples, SAMPLES):
        tensors = tensors_in([sample.input, sample.args, sample.kwargs])
        first = next((x for x in tensors if x.ndim), None)
        if first is None or any(x.layout != real.strided for x in tensors):
            continue
        for length in (None, first.shape[0]):
            made: dict = {}
            args, kwargs = (cut(x, length, made) for x in (sample.args, sample.kwargs))
            yield type(sample)(cut(sample.input, length, made), args=args, kwargs=kwargs)


def on_tape(library, outs, leaves):
    """Of each result: dtype, shape, whether it is on the tape; of each leaf the shape of its gradient."""
    outs = tensors_in(outs)
    for y in outs:
        if y.requires_grad:
            y.backward(library.ones_like(y), retain_graph=True)
    seen = [(str(y.dtype), tuple(y.shape), y.requires_grad, y.grad_fn is not None) for y in outs]
    return seen, [None if x.grad is None else tuple(x.grad.shape) for x in leaves]


NAMES = sorted({*listed("sample.txt"), *FURTHER})


@pytest.mark.parametrize("name", [n for n in NAMES if n in OPS and differentiable(n)])
def test_nothing(name):
    op = OPS[name]
    real.manual_seed(0)
    for sample in cut_samples(op):
        pair = Pair(op, sample)
        try:
            wanted = on_tape(real, op.op(*pair.args, **pair.kwargs), pair.leaves)
        except Exception:  # noqa: BLE001 (refused)
            continue
        found = on_tape(ours, pair.ours(*pair.our_args, **pair.our_kwargs), pair.our_leaves)
        if op.name in DIFFERENT:
            wanted, found = wanted[1], found[1]
        assert found == wanted
