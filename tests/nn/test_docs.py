"""The examples in the docstrings of nn, optim and data run, and what is public has a docstring."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import pkgutil
import sys
import warnings

import pytest

import functorch_core as fc
from functorch_core import data, nn, optim, torch
from functorch_core.aliases import AliasFinder
from functorch_core.names import own_name
from tests.test_docs import FLAGS, Checker

OURS = ("functorch_core.nn", "functorch_core.optim", "functorch_core.data", "torch")
GLOBALS = {"torch": torch, "nn": nn, "optim": optim, "fc": fc, "F": nn.functional}


def modules(package):
    yield package
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        yield from modules(module) if info.ispkg else [module]


def documented():
    """(name, docstring) of everything in the three packages that has an example."""
    seen = set()
    for package in (nn, optim, data):
        for module in modules(package):
            for name, item in vars(module).items():
                if not str(getattr(item, "__module__", "")).startswith(OURS):
                    continue
                members = vars(item).items() if inspect.isclass(item) else ()
                for path, x in [(name, item), *((f"{name}.{k}", v) for k, v in members)]:
                    text = getattr(x, "__doc__", None)
                    if isinstance(text, str) and ">>>" in text and text not in seen:
                        seen.add(text)
                        yield f"{module.__name__}.{path}", text


EXAMPLES = sorted(documented())


@contextlib.contextmanager
def torch_is_ours():
    """`import torch` in an example means this library's modules; the real ones come back."""
    theirs = {k: sys.modules.pop(k) for k in list(sys.modules) if k.partition(".")[0] == "torch"}
    finder = AliasFinder(own_name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [k for k in sys.modules if k.partition(".")[0] == "torch"]:
            del sys.modules[name]
        sys.modules.update(theirs)


@pytest.mark.parametrize("name, text", EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_runs(name, text):
    test = doctest.DocTestParser().get_doctest(text, dict(GLOBALS), name, None, 0)
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS, verbose=False)
    report = []
    with torch_is_ours(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # names that are deprecated have examples, too
        torch.manual_seed(0)
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize(
    "package",
    [
        nn,
        nn.functional,
        nn.init,
        nn.utils,
        nn.utils.rnn,
        nn.utils.parametrize,
        nn.utils.parametrizations,
        nn.attention,
        optim,
        optim.lr_scheduler,
        optim.swa_utils,
        optim.functional,
        data,
    ],
    ids=lambda package: package.__name__,
)
def test_what_is_public_has_a_docstring(package):
    names = getattr(package, "__all__", [n for n in dir(package) if not n.startswith("_")])
    without = [
        name
        for name in names
        if callable(x := getattr(package, name, None))
        and x.__module__.startswith(OURS)
        and not name.startswith("_")
        and not (x.__doc__ or "").strip()
    ]
    assert not without
