"""The diffs of docs/extending.md are all of a primitive, of an operation and of an op: each applied to a copy of the
package, and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DIFF = re.compile(r"^```diff\n--- a/([^\n]*)\n[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
DIFFS = DIFF.findall((ROOT / "docs" / "extending.md").read_text(encoding="utf-8"))

PRIMITIVE = """
import numpy as np
from functorch_core.primitives.arithmetic import cube
from tests.primitives.check import check

assert np.asarray(cube(np.float32(2))) == 8
check(cube, np.linspace(-1, 1, 5))
print("all is there")
"""

OPERATION = """
import inspect
import numpy as np
import functorch_core as fc

x = fc.asarray([0.0, 60.0])
wanted = 30 * np.tanh(np.asarray(x) / 30)
for found in (fc.softcap(x), fc.softcap(x=x, cap=30.0), x.softcap(), fc.jit(fc.softcap)(x), fc.vmap(fc.softcap)(x)):
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
assert abs(fc.grad(fc.softcap)(0.0).item() - 1) < 1e-6
assert str(inspect.signature(fc.softcap)) == "(x, cap=30.0)" and "bent" in fc.softcap.__doc__
assert "softcap" in dir(fc)
for call, words in [(lambda: fc.softcap("a"), "fc.softcap('a')"), (lambda: x.softcap(q=1), "float32[2].softcap(q=1)")]:
    try:
        call()
    except TypeError as error:
        assert f"The call was {words}" in str(error) and "fc.softcap(fc.asarray([0., 60.]))" in str(error), error
    else:
        raise AssertionError(words)
print("all is there")
"""

OP = """
import math
from functorch_core import torch

x = torch.tensor([0.0, 60.0], requires_grad=True)
wanted = [0.0, 30 * math.tanh(2)]
out = torch.empty(2)
with torch.no_grad():
    torch.softcap(x, out=out)
    found = [torch.softcap(x), x.softcap(cap=30.0), x.clone().softcap_(), out, torch.func.vmap(torch.softcap)(x)]
    found.append(torch.compile(torch.softcap)(x))
assert all(torch.allclose(y, torch.tensor(wanted)) for y in found), found
y = x.softcap()
assert torch.autograd.gradcheck(torch.softcap, torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True))
assert abs(torch.func.jvp(torch.softcap, (x,), (torch.ones(2),))[1][0] - 1) < 1e-6
assert y.grad_fn.name() == "MulBackward0" and y.grad_fn.next_functions[0][0].name() == "TanhBackward0"
assert torch.ones(2, 3).t().softcap().stride() == (1, 3) and torch.ones(2, device="meta").softcap().is_meta
assert torch.softcap(torch.arange(2)).dtype is torch.float32 and "bent" in torch.softcap.__doc__
assert torch.softcap.traits.precision("cuda") == "full"
print("all is there")
"""

PROGRAMS = {
    "functorch_core/primitives/arithmetic.py": PRIMITIVE,
    "functorch_core/ops/nn.py": OPERATION,
    "functorch_core/torch/operators/pointwise/functions.py": OP,
}


def test_all_diffs_are_tried():
    assert [path for path, _ in DIFFS] == [*PROGRAMS]


@pytest.mark.parametrize("path, diff", DIFFS)
def test_a_diff_of_one_file_is_all_there_is_to_write(path, diff, tmp_path):
    shutil.copytree(ROOT / "functorch_core", tmp_path / "functorch_core", ignore=shutil.ignore_patterns("__pycache__"))
    source = (tmp_path / path).read_text(encoding="utf-8")
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(x[1:] or "\n" for x in lines if x[0] in kinds) for kinds in (" -", " +"))
        assert source.count(before) == 1 or not hunk
        source = source.replace(before, after) if hunk else source
    (tmp_path / path).write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[path]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f".{os.pathsep}{ROOT}"},
    )
    assert done.stdout == "all is there\n", done.stderr
