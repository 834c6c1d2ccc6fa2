"""What the tape shows and refuses: the programs of `tape_programs.txt` do the same under PyTorch, as those of
`silent_programs.txt` do."""

import pathlib
import re
import warnings

import pytest

from functorch_core import torch

from .test_silent import outcome, reference, same

pytestmark = pytest.mark.filterwarnings("ignore")  # they are recorded, and compared
TEXT = (pathlib.Path(__file__).parent / "tape_programs.txt").read_text()
PARTS = dict(re.findall(r"^# ---- (.*)\n((?:(?!# ----).*\n?)*)", TEXT, re.M))


@pytest.fixture(scope="module", autouse=True)
def forward_mode():
    """PyTorch compiles decompositions when forward mode is first entered, and warns that this is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with reference.autograd.forward_ad.dual_level():
            reference.autograd.forward_ad.make_dual(reference.ones(1), reference.ones(1))


@pytest.mark.parametrize("part", PARTS)
def test_same_as_pytorch(part):
    different = []
    for program in re.split(r"\n\s*\n", PARTS[part].strip("\n")):
        found, expected = outcome(program, torch), outcome(program, reference)
        if not same(found, expected):
            different.append(f"{program}\n  found    {found}\n  expected {expected}")
    assert not different, "\n".join(different)
