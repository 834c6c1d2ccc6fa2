"""Tensors of several devices in one program, by a simulated GPU: see simulated_gpu.py."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("device_programs.py")
NAMES = [node.name for node in ast.parse(PROGRAMS.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]


AGAIN = ["results_are_where_their_operands_are", "factories_make_them_there", "bad_indices_are_heard_of_on_either_side"]


@pytest.mark.parametrize("name", NAMES)
def test_program(name):
    _run(name, first="cpu")


@pytest.mark.parametrize("name", AGAIN)
def test_program_that_begins_with_the_gpu(name):
    _run(name, first="cuda")


def _run(name, first):
    command, environment = [sys.executable, "-m", "tests.torch.device_programs", name], {"SIMULATED_FIRST": first}
    here = PROGRAMS.parents[2]
    done = subprocess.run(command, cwd=here, env=os.environ | environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
