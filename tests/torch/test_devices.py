"""Tensors of several devices in one program, by a simulated GPU: see simulated_gpu.py."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("device_programs.py")
NAMES = [node.name for node in ast.parse(PROGRAMS.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("name", NAMES)
def test_program(name):
    command = [sys.executable, "-m", "tests.torch.device_programs", name]
    done = subprocess.run(command, cwd=PROGRAMS.parents[2], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
