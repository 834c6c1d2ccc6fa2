"""How many instructions a statement takes, counted by valgrind's callgrind: a second process runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import functorch_core.torch as torch

from ..... import names as _names
from .instructions import CallgrindStats, FunctionCounts, added_up
from .measurement import TaskSpec

COMMANDS = ("valgrind", "callgrind_annotate")
WRAP = "`collect_callgrind` requires that globals be wrapped in `CopyIfCallgrind` so that serialization is explicit."
ROW = re.compile(r"^\s*([\d,]+)\s+(\S.*:.*)$")
HERE = __name__.rpartition(".")[0]
EMPTY = FunctionCounts((), True), FunctionCounts((), False)


class CopyIfCallgrind:
    """Marks what `Timer(globals=...)` gives: `collect_callgrind` copies it to the process that counts, by pickle.
    `setup` runs there first, so that classes which are needed can be imported.

    >>> from torch.utils.benchmark import CopyIfCallgrind, Timer
    >>> Timer("x + 1", globals={"x": CopyIfCallgrind(torch.ones(2))}).timeit(1).number_per_run
    1
    """

    def __init__(self, value, *, setup: str | None = None):
        self.value, self.setup = value, None if setup is None else textwrap.dedent(setup).strip()

    @staticmethod
    def unwrap_all(globals: dict) -> dict:
        """The names by their values."""
        return {name: x.value if isinstance(x, CopyIfCallgrind) else x for name, x in globals.items()}


def check_commands():
    """OSError where valgrind is not installed."""
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        raise OSError(f"Missing: {', '.join(missing)}. collect_callgrind counts by valgrind, which is to be installed")


def collect(
    task: TaskSpec, globals: dict, number: int, repeats: int, baseline: bool, retain: bool
) -> list[CallgrindStats]:
    """The instructions of `number` runs of a statement, several times."""
    check_commands()
    if any(not isinstance(x, CopyIfCallgrind) for x in globals.values()):
        raise ValueError(WRAP)
    with tempfile.TemporaryDirectory(prefix="callgrind_") as folder:
        work = {"task": vars(task), "number": number, "repeats": repeats, "baseline": baseline}
        work["setups"] = list(filter(None, [x.setup for x in globals.values()]))
        torch.save(work, f"{folder}/work.pt")
        torch.save(CopyIfCallgrind.unwrap_all(globals), f"{folder}/globals.pt")
        _run(folder)
        parts = sorted(Path(folder).glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        parts = parts[: repeats + baseline]  # the last one is of the end of the process
        first = _counts(parts.pop(0)) if baseline else EMPTY
        return [
            CallgrindStats(task, number, False, *first, *_counts(part), part.read_text() if retain else None)
            for part in parts
        ]


def _run(folder: str):
    """Run what is in a folder under callgrind, which writes files named counts.1, counts.2, ..."""
    shim = ["-m", "functorch_core"] if _names.shim_is_installed else []
    module = _names.own_name(HERE) or HERE
    program = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", "--dump-line=yes"]
    program += [f"--callgrind-out-file={folder}/counts", sys.executable, *shim, "-m", f"{module}._counted", folder]
    paths = os.pathsep.join([path or os.getcwd() for path in sys.path])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"}
    done = subprocess.run(program, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"Failed to collect callgrind profile:\n{done.stdout}\n{done.stderr}")


def _counts(path: Path) -> tuple[FunctionCounts, FunctionCounts]:
    """The inclusive and the exclusive counts of a file."""
    return _annotated(path, True), _annotated(path, False)


def _annotated(path: Path, inclusive: bool) -> FunctionCounts:
    program = ["callgrind_annotate", "--auto=no", "--threshold=100", "--show-percs=no"]
    program += [f"--inclusive={'yes' if inclusive else 'no'}", str(path)]
    text = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    rows = [found.groups() for line in text.splitlines() if (found := ROW.match(line))]
    return added_up([(int(count.replace(",", "")), function) for count, function in rows], inclusive)
