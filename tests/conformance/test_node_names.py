"""Nodes are named as PyTorch's: type(out.grad_fn).__name__ for the first samples of PyTorch's ops."""

from __future__ import annotations

import itertools

import pytest

real = pytest.importorskip(
    "torch", reason="the conformance tests need the real PyTorch: pip install -e '.[conformance]'"
)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from functorch_core import torch  # noqa: E402

from .bridge import function_of, tensors_in, to_ours  # noqa: E402

SAMPLES = 4
FAMILIES = 8

# One op here, several in PyTorch, of which the last differs by the sample.
SEVERAL = {
    "_native_batch_norm_legit",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
    "atleast_2d",
    "cdist",
    "corrcoef",
    "cumulative_trapezoid",
    "einsum",
    "fft.ihfftn",
    "linalg.tensorinv",
    "masked.mean",
    "masked.prod",
    "matmul",
    "__rmatmul__",
    "nn.functional.linear_cross_entropy.chunked",
    "nn.functional.linear_cross_entropy.chunked_none",
    "nn.functional.local_response_norm",
    "nn.functional.scaled_dot_product_attention",
    "nn.functional.smooth_l1_loss",
    "stft",
    "sum_to_size",
    "to_sparse",
}
# PyTorch's name tells how an argument was written: x.__rsub__(y), sort(stable=False).
WRITTEN = {"__rdiv__", "__rsub__", "index_copy", "round.decimals_0", "sort"}
# Which results require grad.
GRADS = {"conj_physical", "float", "native_layer_norm", "nn.functional.rrelu", "svd"}
EXCEPTIONS = SEVERAL | WRITTEN | GRADS

OPS = {
    f"{op.name}.{op.variant_test_name}".rstrip("."): op
    for op in op_db
    if op.supports_autograd and real.float32 in op.dtypes
}


def names_of(results) -> list[str]:
    return [type(x.grad_fn).__name__ for x in tensors_in(results)]


def different(op) -> list:
    """(our names, PyTorch's names) of the samples that both compute and name differently."""
    fun, found = function_of(op), []
    if fun is None:
        return found
    for sample in itertools.islice(op.sample_inputs("cpu", real.float32, requires_grad=True), SAMPLES):
        wanted = names_of(op.op(sample.input, *sample.args, **sample.kwargs))
        made: dict = {}
        try:
            results = fun(*[to_ours(x, made) for x in (sample.input, *sample.args)], **to_ours(sample.kwargs, made))
        except Exception:  # what computes and what does not is test_ops' matter
            continue
        if names_of(results) != wanted:
            found.append((names_of(results), wanted))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", range(FAMILIES))
def test_names(family):
    names = [name for name in sorted(OPS)[family::FAMILIES] if name not in EXCEPTIONS]
    wrong = {name: found for name in names if (found := different(OPS[name]))}
    assert not wrong


# ---- what nodes show -----------------------------------------------------------------------------


GRAPHS = """\
x * y | x * 2 | 2 * x | x + 1 | 1 - x | x / 2 | x ** 2 | 2 ** x | x ** y | x.sum() | x.sum(0)
x.mean(0) | x.max() | x.max(0)[0] | x @ y | x @ v | v @ v | x.mm(y) | x.addmm(x, y) | x.exp()
torch.cat([x, y]) | torch.stack([x, y]) | x[0] | x[0:2] | x[m] | x[[0, 1]] | x.where(m, y)
x.masked_fill(m, 1.) | x.gather(0, i) | x.index_select(0, i[0]) | x.clamp(0, 1) | x.clone().add_(1)
x.T | x.reshape(9) | x.expand(2, 3, 3) | x.split(1)[1] | x.lerp(y, 0.5) | x.softmax(0) | x.var()
F.layer_norm(x, (3,)) | F.layer_norm(x, (3,), v, v) | F.conv1d(x[None], x[None]) | F.mse_loss(x, y)
F.embedding(i, x) | F.nll_loss(x, i[0]) | F.relu(x) | F.gelu(x) | F.leaky_relu(x)
F.threshold(x, 0, 1) | F.batch_norm(x, None, None, training=True) | F.max_pool2d(x[None], 2)
F.pad(x, (1, 1))""".replace("\n", " | ").split(" | ")


def shape_of_graph(torch, program: str) -> list:
    x = torch.ones(3, 3, requires_grad=True)
    scope = {
        "torch": torch,
        "F": torch.nn.functional,
        "x": x,
        "y": torch.full((3, 3), 2.0, requires_grad=True),
        "v": torch.ones(3, requires_grad=True),
        "m": torch.ones(3, 3) > 0,
        "i": torch.zeros(1, 3, dtype=torch.int64),
    }
    node = eval(program, scope).grad_fn
    return [type(node).__name__, *((type(n).__name__, i) for n, i in node.next_functions)]


@pytest.mark.parametrize("program", GRAPHS)
def test_next_functions(program):
    assert shape_of_graph(torch, program) == shape_of_graph(real, program)


SAVED = [
    "(x * y)._saved_self",
    "(x * y)._saved_other",
    "x.exp()._saved_result",
    "x.sigmoid()._saved_result",
    "(x ** 3)._saved_self",
    "(x ** 3)._saved_exponent",
    "x.tanh()._saved_result",
    "x.softmax(0)._saved_result",
    "x.softmax(0)._saved_dim",
    "x.log()._saved_self",
    "x.mm(y)._saved_mat2",
    "x.sin()._saved_self",
]


@pytest.mark.parametrize("program", SAVED)
def test_saved(program):
    call, _, name = program.rpartition(".")
    found = []
    for library in (torch, real):
        x = library.arange(1.0, 5.0).reshape(2, 2).requires_grad_()
        y = library.full((2, 2), 2.0, requires_grad=True)
        found.append(getattr(eval(call, {"x": x, "y": y}).grad_fn, name))
    assert str(found[0]) == str(found[1]) or found[0].tolist() == found[1].tolist()
