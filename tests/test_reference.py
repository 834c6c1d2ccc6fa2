"""The pages of the reference: every public name is described, and its examples give what they say.

Few tests, so that what takes 3 s, to gather all names, is done in one process.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import inspect
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import functorch_core as fc
from functorch_core import nn, optim, torch
from functorch_core.torch import distributed
from tests.nn.test_docs import torch_is_ours
from tests.test_docs import FLAGS, Checker

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402  the maker of the pages

pytestmark = pytest.mark.xdist_group("reference")
GLOBALS = {"torch": torch, "nn": nn, "optim": optim, "fc": fc, "F": nn.functional}
# What its own tests execute: test_docs, nn/test_docs, torch/distributions/test_examples.
ELSEWHERE = ("fc", "torch.nn", "torch.optim", "torch.utils.data", "torch.distributions")


@functools.cache
def described() -> dict[str, dict[str, str]]:
    """Chapter -> name -> description, of what is there and can be called or read."""
    return {
        title: {
            name: reference.words(thing)
            for name, thing in names.items()
            if getattr(thing, "is_missing", False) is not True and (callable(thing) or isinstance(thing, property))
        }
        for title, names in reference.everything().items()
    }


def test_every_name_has_a_description():
    assert not [f"{title}.{name}" for title, names in described().items() for name, text in names.items() if not text]


def test_every_name_has_an_example():
    lacking = [f"{t}.{n}" for t, names in described().items() for n, text in names.items() if ">>> " not in text]
    assert not lacking


def test_every_page_names_its_thing_and_links_are_made():
    assert len(reference.everything()) > 100
    page = reference.page("torch", "exp", torch.exp)
    assert "````{py:function} torch.exp" in page and "```pycon\n>>> torch.exp(" in page
    assert "pointwise/functions.py" in page
    what = inspect.getdoc(torch.FloatTensor).splitlines()[0]
    assert what in reference.page("torch", "FloatTensor", torch.FloatTensor)


@contextlib.contextmanager
def process_group(title, text):
    """A group of one process around the examples of torch.distributed, which are written for each of several."""
    if not f"{title}.".startswith("torch.distributed.") or "init_process_group(" in text:
        yield
        return
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def examples():
    """(chapter, name, description) of what no other test executes, each description once."""
    seen = set()
    for title, names in described().items():
        for name, text in names.items():
            tested = title.startswith(ELSEWHERE) and title != "torch.nn.functional"
            if ">>> " in text and text not in seen and not tested:
                seen.add(text)
                yield title, name, text


def failures() -> list[str]:
    """What the examples gave instead of what they say."""
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS, verbose=False)
    report: list[str] = []
    with torch_is_ours(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is deprecated, or slow on purpose
        for title, name, text in examples():
            torch.manual_seed(0)
            known = {**GLOBALS, name: reference.everything()[title][name]}
            test = doctest.DocTestParser().get_doctest(text, known, f"{title}.{name}", None, 0)
            with process_group(title, text):
                runner.run(test, out=report.append)
    return report


def test_examples_run():
    """In a process of their own: what three thousand examples register and set stays there."""
    run = "from tests.test_reference import failures; import sys; sys.exit(''.join(failures()) or None)"
    child = subprocess.run([sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr[-20_000:]
