"""Memory that tensors share with NumPy: programs under both libraries."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import functorch_core as fc

from .agree import ours, reference

HERE = pathlib.Path(__file__).parent
ROOT = str(HERE.parent.parent)
TEXT = (HERE / "memory_programs.txt").read_text()
PROGRAMS = dict(part.split("\n", 1) for part in TEXT.split("## ")[1:])


def plain(x):
    """What is compared of a value: of arrays and tensors the numbers."""
    if hasattr(x, "detach"):
        return ["tensor", str(x.dtype), list(x.shape), x.tolist()]
    if isinstance(x, np.ndarray):
        return ["array", str(x.dtype), x.tolist()]
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    return x.item() if isinstance(x, np.generic) else x if isinstance(x, (int, float)) else str(x)


@contextlib.contextmanager
def warned():
    """Context: the warnings in it, which are nobody else's business."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def outcome(text: str, torch) -> list:
    """What a program shows."""
    shown: list = []

    def fails(f):
        with pytest.raises(Exception) as error:
            f()
        shown.append([error.type.__name__, str(error.value).splitlines()[0]])

    names = {"torch": torch, "np": np, "fails": fails, "warned": warned, "__name__": "program"}
    names["show"] = lambda *values: shown.extend(map(plain, values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        exec(compile(text, "program", "exec"), names)
    return shown


def same(found, expected):
    """Whether what two programs show is equal, floats nearly."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return isinstance(found, float) and np.isclose(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    return found == expected


@pytest.mark.parametrize("title", PROGRAMS)
def test_programs(title):
    expected = outcome(PROGRAMS[title], reference)
    found = outcome(PROGRAMS[title], ours)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert same(one, other), (one, other)


@pytest.mark.parametrize("tier", ["reference", "per-op", "fused", "immediate"])
def test_tiers(tier):
    titles = list(PROGRAMS)[:: 4 if tier != "reference" else 1]
    for title in titles:
        expected = outcome(PROGRAMS[title], reference)
        with fc.engine.forced_tier(tier):
            found = outcome(PROGRAMS[title], ours)
        assert same(found, expected), (title, found, expected)


@pytest.mark.parametrize("title", list(PROGRAMS)[:40])
def test_at_once(title):
    expected = outcome(PROGRAMS[title], reference)
    with fc.engine.at_once("a test"):
        found = outcome(PROGRAMS[title], ours)
    assert same(found, expected), (found, expected)


# ---- between processes ---------------------------------------------------------------------------------

PROCESSES = dict(part.split("\n", 1) for part in (HERE / "process_programs.txt").read_text().split("## ")[1:])
HEAD = """
import os, sys, traceback, warnings
warnings.simplefilter("ignore")
import numpy as np
{imports}
folder = sys.argv[-1]
tests = []

def run(method, work, calls):
    for args in calls:
        process = mp.get_context(method).Process(target=work, args=args)
        process.start()
        process.join()
        assert process.exitcode == 0, process.exitcode

def fails(f):
    try:
        f()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0].replace(folder, ""))

def listed(x):
    return x.tolist() if hasattr(x, "tolist") else list(map(listed, x)) if isinstance(x, list) else x

def show(*values):
    print(*map(listed, values), sep="\\n")
"""
TAIL = """
if __name__ == "__main__":
    for title, main in tests:
        print("##", title)
        try:
            main()
        except Exception:
            print(traceback.format_exc())
        sys.stdout.flush()
"""


def printed(imports: str, folder) -> dict[str, str]:
    """What each program prints; all run in one process, which starts others."""
    folder.mkdir()
    parts = [HEAD.format(imports=imports)]
    for i, (title, text) in enumerate(PROCESSES.items()):
        own = re.sub(r"\b(work|main)\b", rf"\g<1>{i}", text)
        parts.append(f"{own}\ntests.append(({title!r}, main{i}))\n")
    (folder / "program.py").write_text("\n".join([*parts, TAIL]))
    command = [sys.executable, folder / "program.py", folder]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(part.split("\n", 1) for part in done.stdout.split("## ")[1:])


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    mine = "from functorch_core import torch\nfrom functorch_core.torch import multiprocessing as mp"
    theirs = "import torch\nimport torch.multiprocessing as mp"
    return printed(mine, folder / "ours"), printed(theirs, folder / "theirs")


@pytest.mark.parametrize("title", PROCESSES)
def test_processes(title, outputs):
    found, expected = (x[title] for x in outputs)
    assert "Traceback" not in expected and found == expected
