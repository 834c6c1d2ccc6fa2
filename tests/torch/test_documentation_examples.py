"""The examples of PyTorch's chapters on profiles, TensorBoard and hooks of the graph print and write the same here.

They are taken from the docstrings of the PyTorch that is installed. Times and addresses differ, and a profile says here
in a sentence of its own how it was measured.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from functorch_core.torch.autograd.profiler_util import ONE_BY_ONE

from .agree import reference

pytest.importorskip("tensorboard", reason="the extra `conformance` has it")

MODULES = (
    "profiler.profiler",
    "profiler",
    "autograd.profiler",
    "autograd.profiler_util",
    "autograd.graph",
    "utils.tensorboard.writer",
    "utils.flop_counter",
    "utils.benchmark.utils.timer",
    "utils.benchmark.utils.common",
    "utils.benchmark.utils.compare",
    "utils.benchmark.utils.fuzzer",
    "monitor",
)
RUNNER = Path(__file__).with_name("documentation_examples.py")
MEASURED = re.compile(r"-?\d+(\.\d+)?\s?(us|ms|s|%)(?!\w)|-?\d+\.\d+(e-?\d+)?|(micro|milli)?seconds \(\w+\)")
BLOCK = re.compile(r"(?:\.\. code-block:: python|Examples?[^\n]{0,40}::)\n(?:[ \t]*:.*\n)*\n((?:[ \t]+.*\n|\n)+)")
# Ends in an error in PyTorch itself, or needs what a CPU has not, or is the type of a result.
NOT_PROGRAMS = ("cuda.memory", "save_on_cpu", "emit_nvtx", "emit_itt", "region_activation_memory_budget")


def programs(docstring: str):
    """The programs in a docstring."""
    found = BLOCK.findall(inspect.cleandoc(docstring) + "\n")
    if not found and ">>>" in docstring:
        found = ["".join(example.source for example in doctest.DocTestParser().get_examples(docstring))]
    for text in found:
        text = textwrap.dedent(text)
        if ">>>" in text:
            text = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
        yield text


def documented(module) -> dict[str, object]:
    """The classes and functions that a module has, their methods too, by name."""
    own = {n: v for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__}
    found = {n: v for n, v in own.items() if inspect.isclass(v) or inspect.isfunction(v)}
    for name, cls in own.items():
        if inspect.isclass(cls):
            found |= {f"{name}.{n}": v for n, v in vars(cls).items() if inspect.isfunction(v)}
    return found


def examples() -> dict[str, str]:
    """The examples of PyTorch's docstrings by where they stand."""
    found: dict[str, str] = {}
    for name in MODULES:
        module = importlib.import_module(f"torch.{name}")
        for where, thing in documented(module).items():
            for i, text in enumerate(programs(thing.__doc__ or "")):
                place = f"{name}.{where} {i}"
                if text not in found.values() and not any(n in place for n in NOT_PROGRAMS):
                    found[place] = text
    return found | {"utils.benchmark": RUNNER.with_name("benchmark_chapter.py").read_text()}


def run(by_library: bool, file: Path, folder: Path) -> dict:
    """What each example prints and how it ends, under one library."""
    how = [sys.executable, "-W", "ignore", *["-m", "functorch_core"] * by_library, str(RUNNER), str(file), str(folder)]
    done = subprocess.run(how, capture_output=True, text=True, timeout=300, cwd=file.parent)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "results.json").read_text())


def events(folder: Path) -> list[tuple[int, bytes]]:
    """What the event files in a folder say, without times."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    found = []
    for file in sorted(folder.rglob("*tfevents*")):
        for raw in RawEventFileLoader(str(file)).Load():
            event = Event.FromString(raw)
            for value in event.summary.value:
                plugin = value.metadata.plugin_data
                if plugin.plugin_name == "hparams":  # names and numbers in any order
                    plugin.content = HParamsPluginData.FromString(plugin.content).SerializeToString(deterministic=True)
                found.append((event.step, value.SerializeToString(deterministic=True)))
    return sorted(found)


def others(folder: Path) -> list[tuple[str, bytes]]:
    """The other files that an example wrote, but traces and stacks, which have times."""
    left_out = ("tfevents", ".json", "stacks.txt")
    files = [f for f in folder.rglob("*") if f.is_file() and not any(part in f.name for part in left_out)]
    return sorted((f.name, f.read_bytes()) for f in files)


def said(printed: str) -> list[str]:
    """The lines of a text without what is measured and rules, sorted: rows of tables stand in the order of times."""
    lines = [" ".join(MEASURED.sub("#", line).split()) for line in printed.splitlines()]
    return sorted(line for line in lines if line.strip("- ") and line != ONE_BY_ONE)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """For each example its name and (folder, result) under PyTorch and here."""
    if reference is None:
        pytest.skip("PyTorch is not installed")
    base = tmp_path_factory.mktemp("examples")
    file = base / "examples.json"
    file.write_text(json.dumps(examples()))
    ways = [
        (base / name, run(by_library, file, base / name)) for name, by_library in (("theirs", False), ("ours", True))
    ]
    names = json.loads(file.read_text())
    return {n: [(folder / str(i), results[n]) for folder, results in ways] for i, n in enumerate(names)}


def test_there_are_examples(both):
    assert len(both) > 25
    assert sum(theirs["error"] is None for (_, theirs), _ in both.values()) > 25


def test_they_end_alike(both):
    ended = {n: [r["error"] and r["error"].split(":")[0] for _, r in pair] for n, pair in both.items()}
    assert {n: (a, b) for n, (a, b) in ended.items() if a != b} == {}


def test_they_print_the_same(both):
    printed = {n: [said(r["printed"]) for _, r in pair] for n, pair in both.items()}
    assert {n: pair for n, pair in printed.items() if pair[0] != pair[1]} == {}


def test_they_write_the_same_events(both):
    written = {n: [events(folder) for folder, _ in pair] for n, pair in both.items()}
    assert sum(bool(theirs) for theirs, _ in written.values()) > 10
    assert {n: (len(a), len(b)) for n, (a, b) in written.items() if a != b} == {}


def test_they_write_the_same_files(both):
    written = {n: [others(folder) for folder, _ in pair] for n, pair in both.items()}
    assert {n: [f for f, _ in a] for n, (a, b) in written.items() if a != b} == {}
