"""PyTorch's own samples give PyTorch's results.

passing.txt lists the entries of the database that pass forward and gradient on their first samples;
an entry that is fixed is added, none is taken out. What draws random numbers or returns memory as it
finds it is not in it. sample.txt is a fixed choice that also runs in each tier forced, and through
the transforms. `python -m tests.conformance.test_ops` tries every entry and prints which pass.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

real = pytest.importorskip(
    "torch", reason="the conformance tests need the real PyTorch: pip install -e '.[conformance]'"
)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.opinfo.core import OpInfo  # noqa: E402

from functorch_core import engine  # noqa: E402

from . import samples  # noqa: E402

HERE = Path(__file__).parent
SAMPLES = 3
OPS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}
UNINITIALISED = frozenset(
    """empty empty_like empty_permuted empty_strided new_empty
    new_empty_strided resize_ resize_as_""".split()
)

pytestmark = pytest.mark.filterwarnings("ignore")


def listed(file: str) -> list[str]:
    """The entries named in a file beside this one."""
    path = HERE / file
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def check(op: OpInfo, count: int = SAMPLES):
    """Forward and gradient of the first samples of an op, those left out that draw numbers."""
    compared = 0
    for pair in samples.pairs(op, count):
        try:
            samples.forward_and_gradient(pair)
        except samples.Draws:
            continue
        compared += 1
    assert compared, "every sample draws random numbers"


@pytest.mark.parametrize("name", listed("passing.txt"))
def test_op(name):
    check(OPS[name])


@pytest.mark.parametrize("tier", ["reference", "per-op", "fused"])
@pytest.mark.parametrize("name", listed("sample.txt"))
def test_tier(name, tier):
    with engine.forced_tier(tier):
        check(OPS[name], 1)


# What each mode asks of an entry.
MODES = {
    "double_gradient": lambda op: op.supports_gradgrad,
    "jvp": lambda op: op.supports_forward_ad,
    "vmap": lambda op: True,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", listed("sample.txt"))
def test_transform(name, mode):
    op = OPS[name]
    if not MODES[mode](op):
        pytest.skip(f"PyTorch has no {mode} of {name}")
    for pair in samples.pairs(op, 2, grad=mode != "vmap"):
        getattr(samples, mode)(pair)


def main():
    """Try every op; print the names that pass."""
    warnings.simplefilter("ignore")
    good = []
    for name, op in sorted(OPS.items()):
        if op.name in UNINITIALISED:
            continue
        try:
            check(op)
        except Exception:  # any failure: the op does not pass
            continue
        good.append(name)
        print(name, flush=True)
    print(f"# {len(good)} of {len(OPS)}")


if __name__ == "__main__":
    main()
