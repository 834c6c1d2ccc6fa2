"""Each op knows the user's line that called it, also where nothing is above that line: in a script's own."""

import subprocess
import sys

import pytest

CALLS = """
x + x; x * 2.5; 2 - x; -x; x @ x; x[1]; x[1:3]; x.view(3, 1); x.tanh(); x.sum(0); torch.add(x, y); torch.cat([x, y])
torch.stack([x, y, x]); torch.where(x > 0, x, y); x.softmax(0); torch.nn.functional.linear(y, w); x.clamp(0, 1); x == y
""".strip().replace("\n", "; ")
SCRIPT = """
from functorch_core import torch
from functorch_core.engine import recorder
x, y, w = torch.ones(3), torch.ones(3), torch.ones(2, 3)
{prepare}
for _ in range(4):
    {call}
def called():
    {call}
for _ in range(3):
    called()
codes = recorder._state.recording.sources[::2][-3:]
assert all(code is called.__code__ for code in codes), codes
"""


@pytest.mark.parametrize("prepare", ["pass", "x.requires_grad_()"])
def test_ops_at_the_top_of_a_script(prepare):
    program = "".join(SCRIPT.format(call=call, prepare=prepare) for call in CALLS.split("; "))
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not found.returncode, found.stderr
