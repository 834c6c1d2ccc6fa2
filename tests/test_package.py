"""The package as it is installed: every folder is listed, nothing starts on import."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FACADES = {"nn": "functorch_core.nn", "optim": "functorch_core.optim", "data": "functorch_core.data"}


def folders() -> set[str]:
    """The dotted name of every folder with Python files in the installed packages."""
    names = set()
    for top in ("functorch_core", *FACADES):
        for init in (ROOT / top).rglob("*.py"):
            parts = init.parent.relative_to(ROOT).parts
            if "__pycache__" not in parts:
                names.add(".".join((FACADES.get(parts[0], parts[0]), *parts[1:])))
    return names


def test_every_folder_is_a_listed_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = project["tool"]["setuptools"]["packages"]
    assert set(listed) == folders()
    assert len(listed) == len(set(listed))


def test_the_installed_packages_say_that_they_are_typed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    data = project["tool"]["setuptools"]["package-data"]
    for folder, package in {"functorch_core": "functorch_core", **FACADES}.items():
        assert "py.typed" in data[package]
        assert (ROOT / folder / "py.typed").is_file()


def run(code: str) -> str:
    """The output of a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_starts_no_thread_and_no_client():
    code = (
        "import threading, functorch_core as fc; from functorch_core import xla; "
        "print(threading.active_count(), xla.has_client())"
    )
    assert run(code) == "1 False"


def test_an_import_by_another_name_sets_nothing():
    """Over the function that has the name of its file."""
    code = (
        "from functorch_core import nn; import functorch_core.torch.nn.utils.weight_norm; "
        "print(type(nn.utils.weight_norm).__name__)"
    )
    assert run(code) == "function"


def test_neither_jax_nor_the_real_torch_is_imported():
    code = "import sys, functorch_core, functorch_core.torch; print([m for m in ('jax', 'torch') if m in sys.modules])"
    assert run(code) == "[]"


def test_the_collector_waits_only_while_packages_are_loaded():
    program = """
import gc
from functorch_core import torch
assert gc.isenabled()
from functorch_core.collector import Waiting
waiting = Waiting()
assert not gc.isenabled()
del waiting
assert gc.isenabled()
gc.disable()
waiting = Waiting()
del waiting
assert not gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("before", [0, 30_000])
def test_a_users_cycles_are_freed_after_an_import_as_before(before):
    """Garbage at once; of what is in use then, only where it is one of few objects, it is no more looked at."""
    program = f"""
import gc, weakref
class Cycle:
    def __init__(self):
        self.me = self
others, frozen = [[] for _ in range({before})], gc.get_freeze_count()  # 375 from the start in Python 3.12
gc.disable()
garbage = weakref.ref(Cycle())
gc.enable()
kept = Cycle()
from functorch_core import torch
assert (gc.get_freeze_count() > frozen) == (not {before})
later, kept_then = Cycle(), weakref.ref(kept)
later_then = weakref.ref(later)
del later, kept
gc.collect()
assert garbage() is None and later_then() is None and (kept_then() is None) == bool({before})
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_checkout_that_is_on_the_path_but_not_installed_says_so():
    packages = sysconfig.get_path("purelib")  # as a path: its .pth files, which know of the checkout, are not read
    program = "from functorch_core import torch; torch.ones(1).sum(); torch.nn"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), packages])}
    found = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True, timeout=600
    )
    assert found.returncode and "run `pip install -e .` in it" in found.stderr, found.stderr
