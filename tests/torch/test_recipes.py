"""The programs of examples/recipes under both libraries: their output is the same, up to times."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

from tests.nn.test_docs import torch_is_ours

from .agree import reference  # noqa: F401  PyTorch is there

RECIPES = Path(__file__).resolve().parents[2] / "examples" / "recipes"
HEADS = ("Name", "CPU Mem", "# of Calls", "Input Shapes")  # of the columns that do not tell times


def output(name: str, ours: bool, *arguments: str) -> str:
    """What a recipe prints."""
    printed, before = io.StringIO(), sys.argv
    sys.argv = [name, *arguments]
    try:
        with contextlib.redirect_stdout(printed), torch_is_ours() if ours else contextlib.nullcontext():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a loss is written as a number
                runpy.run_path(str(RECIPES / f"{name}.py"), run_name="__main__")
    finally:
        sys.argv = before
    return printed.getvalue()


def without_times(text: str) -> list[str]:
    """Lines; times, addresses and what follows from the width of times are left out."""
    lines = [line for line in text.splitlines() if " object at 0x" not in line]
    lines = [re.sub(r"\d+\.\d+( [mun]?s)?", "TIME", re.sub("-{2,}", "-", line)) for line in lines]
    lines = ["Times" if line.startswith("Times are in") else line for line in lines]
    return [" ".join(line.split()) for line in lines if not line.startswith("Operators were computed")]


def tables(text: str) -> tuple[list[str], list[dict[str, tuple]]]:
    """The lines outside of the profiler's tables; and of each table, the cells of each operator that tell no times."""
    lines, found, head = [], [], None
    for line in text.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if set(line) <= {"-", " "} and "--" in line:
            continue
        if cells[0] == "Name":
            head = cells
            found.append({})
        elif line.startswith("Self CPU time total"):
            head = None
        elif head is None:
            lines.append(line)
        else:
            row = dict(zip(head, cells, strict=True))
            key = row["Name"], re.sub(r"(, \[\])+\]$", "]", row.get("Input Shapes", ""))
            found[-1][key] = tuple(row[column] for column in HEADS[1:3] if column in row)
    return [line for line in lines if line and not line.startswith("Operators were computed")], found


def test_profile_a_model():
    (lines, ours), (expected, theirs) = (tables(output("profile_a_model", mine)) for mine in (True, False))
    assert lines == expected and len(ours) == len(theirs) == 3
    for table, full in zip(ours, theirs):
        for key in ("[memory]", "aten::max_pool2d_with_indices"):  # and its indices, which nobody asks for
            full.pop((key, ""), None)
            table.pop((key, ""), None)
        assert table == full and len(table) >= 5


def test_find_what_is_slow():
    (lines, ours), (expected, theirs) = (tables(output("find_what_is_slow", mine)) for mine in (True, False))
    assert lines == expected and len(lines) > 15
    for table, full in zip(ours, theirs, strict=True):  # the memory of what is marked includes what others gave back
        table.pop(("[memory]", ""), None), full.pop(("[memory]", ""), None)
        assert {key: cells[-1] for key, cells in table.items()} == {key: cells[-1] for key, cells in full.items()}


def test_time_statements():
    ours, theirs = (without_times(output("time_statements", mine)) for mine in (True, False))
    assert ours == theirs and "1 threads: -" in ours


def test_log_to_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason="the extra `conformance` has it")
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    printed, written = [], []
    for mine in (True, False):
        folder = tmp_path / str(mine)
        printed.append(output("log_to_tensorboard", mine, str(folder)))
        files = sorted(folder.rglob("*tfevents*"), key=lambda file: file.parent)
        events = [
            (file.parent, Event.FromString(raw)) for file in files for raw in RawEventFileLoader(str(file)).Load()
        ]
        written.append([(str(f.relative_to(folder)), e.step, v) for f, e in events for v in e.summary.value])
    assert printed[0] == printed[1]
    assert len(written[0]) == len(written[1]) > 50
    for (*where, ours), (*expected, theirs) in zip(*written):
        assert where == expected and ours.tag == theirs.tag
        if ours.tag == "Loss/train":
            assert ours.simple_value == pytest.approx(theirs.simple_value, rel=1e-5)
        else:
            assert ours == theirs
