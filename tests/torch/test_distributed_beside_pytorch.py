"""Programs of two processes that print the same under this library and real PyTorch."""

import os
import subprocess
import sys

import pytest

from functorch_core.torch.compat.distributed.group import free_port

from .test_distributed import PROGRAMS, ROOT

pytestmark = pytest.mark.slow


def printed(library: str, program: str, *folders) -> list[str]:
    """What two processes print under one library, each line with the number of the process that it is about."""
    given = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    given["OMP_NUM_THREADS"] = "1"
    with_shim = ["-m", "functorch_core"] if library == "ours" else []
    command = [sys.executable, *with_shim, str(PROGRAMS / program), *map(str, folders)]
    started = [
        subprocess.Popen(
            command, env={**given, "RANK": str(r)}, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for r in range(2)
    ]
    said = [process.communicate(timeout=240) for process in started]
    errors = "".join(error for _, error in said)
    # PyTorch's processes are sometimes aborted at their end ("terminate called without an active exception").
    assert library == "theirs" or all(process.returncode == 0 for process in started), errors
    return [line for line in said[0][0].splitlines() if line[:3] in ("0: ", "1: ")]


def test_planners_and_storages_of_ones_own_do_as_with_pytorch(tmp_path):
    theirs = printed("theirs", "planners.py", tmp_path / "theirs")
    ours = printed("ours", "planners.py", tmp_path / "ours", tmp_path / "theirs")
    assert len(theirs) == 26 and ours[:26] == theirs
    assert (
        printed("theirs", "planners.py", tmp_path / "theirs", tmp_path / "ours") == ours
    )  # each reads what the other wrote
    kept = "{'divided': [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0]], 'copies': [0.0, 1.0],"
    assert ours[26].startswith("0: of the other " + kept)


def test_methods_of_groups_and_groups_of_groups_do_as_with_pytorch(tmp_path):
    for name in ("theirs", "ours"):
        (tmp_path / name).mkdir()
    theirs, ours = (printed(name, "groups.py", tmp_path / name) for name in ("theirs", "ours"))
    assert len(theirs) == 36 and ours == theirs


@pytest.mark.parametrize(
    "program, lines",
    [
        ("parts.py", 12),
        ("kept_gradients.py", 26),
        ("own_operators.py", 22),
        ("replicated.py", 32),
        ("named_hooks.py", 12),
        ("local_sgd.py", 56),
        ("remote_modules.py", 13),
        ("pipes.py", 12),
    ],
)
def test_programs_print_what_they_print_with_pytorch(program, lines):
    theirs, ours = (printed(name, program) for name in ("theirs", "ours"))
    assert len(theirs) == lines and ours == theirs
