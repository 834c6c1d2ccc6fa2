"""What autocast computes PyTorch's ops in on the CPU: the dtypes of results, of operands in float32, in bfloat16
and of both."""

from __future__ import annotations

import itertools

import pytest

real = pytest.importorskip(
    "torch", reason="the conformance tests need the real PyTorch: pip install -e '.[conformance]'"
)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from functorch_core import torch  # noqa: E402

from .bridge import function_of, tensors_in, to_ours  # noqa: E402

SAMPLES = 2
FAMILIES = 4

# Computed in products of matrices by PyTorch, which are in low precision; one op here.
PRODUCTS = {"corrcoef", "cov", "einsum", "linalg.matrix_power", "linalg.pinv", "linalg.pinv.hermitian", "tensordot"}
# By the mode: padding with constants has no list.
BY_MODE = {"nn.functional.pad.reflect", "nn.functional.pad.replicate", "nn.functional.pad.replicate_negative"}
# Of PyTorch's results one is wider than its inputs.
MIXED = {"_native_batch_norm_legit", "native_batch_norm", "native_layer_norm"}
PARTS = {
    "_softmax_backward_data",
    "lu",
    "masked.prod",
    "nn.functional.linear_cross_entropy.chunked",
    "nn.functional.linear_cross_entropy.chunked_none",
}
EXCEPTIONS = PRODUCTS | BY_MODE | MIXED | PARTS

OPS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db if real.float32 in op.dtypes}


def mapped(x, change):
    """Arguments, their tensors changed."""
    if isinstance(x, (real.Tensor, torch.Tensor)):
        return change(x)
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(mapped(y, change) for y in x)
    return {k: mapped(v, change) for k, v in x.items()} if isinstance(x, dict) else x


def in_bfloat16(which):
    """Lets the floating tensors of these places be in bfloat16."""
    place = itertools.count()

    def change(x):
        return x.bfloat16() if which(next(place)) and x.is_floating_point() else x

    return change


OPERANDS = {"float32": lambda i: False, "bfloat16": lambda i: True, "both": lambda i: i == 0}


def dtypes(library, fun, args, kwargs, which) -> list[str]:
    args, kwargs = mapped((args, kwargs), in_bfloat16(which))
    with library.autocast("cpu"):
        return [str(x.dtype) for x in tensors_in(fun(*args, **kwargs))]


def different(op) -> list:
    """(operands, our dtypes, PyTorch's dtypes) of the samples that both compute."""
    fun, found = function_of(op), []
    samples = itertools.islice(op.sample_inputs("cpu", real.float32), SAMPLES if fun is not None else 0)
    for sample, (name, which) in itertools.product(samples, OPERANDS.items()):
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        try:
            wanted = dtypes(real, op.op, args, kwargs, which)
            given = dtypes(torch, fun, *to_ours((args, kwargs)), which)
        except Exception:  # what computes and what does not is test_ops' matter
            continue
        if given != wanted:
            found.append((name, given, wanted))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", range(FAMILIES))
def test_dtypes_under_autocast(family):
    names = [name for name in sorted(OPS)[family::FAMILIES] if name not in EXCEPTIONS]
    wrong = {name: found for name in names if (found := different(OPS[name]))}
    assert not wrong
