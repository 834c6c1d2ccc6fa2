"""Each op listed in passing.txt: PyTorch's own samples, forward and gradient, give PyTorch's results.

The list holds what passes; an op that is fixed is added to it, none is taken out. `python -m
tests.conformance.test_ops` tries every op of the database and prints which pass.
"""
from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest

real = pytest.importorskip(
    "torch", reason="the conformance tests need the real PyTorch: pip install -e '.[conformance]'")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.opinfo.core import OpInfo  # noqa: E402

from .bridge import function_of, tensors_in, to_numpy, to_ours  # noqa: E402

LIST = Path(__file__).with_name("passing.txt")
SAMPLES = 3
OPS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}


def passing() -> list[str]:
    """The ops that must pass."""
    return LIST.read_text(encoding="utf-8").split() if LIST.exists() else []


def compare(found, wanted, what: str, scale: float = 1.):
    """AssertionError unless two results agree in structure, shape, dtype and value."""
    found, wanted = tensors_in(found), tensors_in(wanted)
    assert len(found) == len(wanted), f"{what}: {len(found)} tensors, expected {len(wanted)}"
    for f, w in zip(found, wanted):
        assert str(f.dtype) == str(w.dtype), f"{what}: {f.dtype}, expected {w.dtype}"
        a, b = to_numpy(f), to_numpy(w)
        assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
        np.testing.assert_allclose(a, b, rtol=2e-4 * scale, atol=2e-4 * scale, err_msg=what)


def check(op: OpInfo, samples: int = SAMPLES):
    """Forward and gradient of the first samples of an op, float32 (or the first dtype it has)."""
    fun = function_of(op)
    assert fun is not None, f"torch.{op.name} does not exist"
    dtype = real.float32 if real.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
    grad = op.supports_autograd and dtype is real.float32
    real.manual_seed(0)
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), samples):
        _check_sample(op, fun, sample, grad)


def _check_sample(op: OpInfo, fun, sample, grad: bool):
    made: dict = {}
    args = [to_ours(x, made) for x in (sample.input, *sample.args)]
    kwargs = to_ours(sample.kwargs, made)
    wanted = op.op(sample.input, *sample.args, **sample.kwargs)
    found = fun(*args, **kwargs)
    compare(found, wanted, "forward")
    roots = [(f, w) for f, w in zip(tensors_in(found), tensors_in(wanted)) if w.requires_grad]
    if grad and roots:
        rng = np.random.default_rng(0)
        for f, w in roots:
            ct = rng.standard_normal(tuple(w.shape)).astype(np.float32)
            w.backward(real.from_numpy(ct), retain_graph=True)
            f.backward(to_ours(real.from_numpy(ct)), retain_graph=True)
        leaves = tensors_in([sample.input, *sample.args, *sample.kwargs.values()])
        for leaf in leaves:
            if leaf.requires_grad and leaf.grad is not None:
                compare(made[id(leaf)].grad, leaf.grad, "gradient", 10.)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", passing())
def test_op(name):
    check(OPS[name])


def main():
    """Try every op; print the names that pass."""
    warnings.simplefilter("ignore")
    good = []
    for name, op in sorted(OPS.items()):
        try:
            check(op)
            good.append(name)
            print(name, flush=True)
        except Exception:  # any failure: the op does not pass
            pass
    print(f"# {len(good)} of {len(OPS)}")


if __name__ == "__main__":
    main()
