"""The examples in the docstrings, and how the package is imported."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from functorch_core import torch
from tests.nn.test_docs import torch_is_ours

from ..agree import reference

package = importlib.import_module("functorch_core.torch.distributions")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [package.__name__, *[m.name for m in pkgutil.iter_modules(package.__path__, package.__name__ + ".")]]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    report = []
    with torch_is_ours():
        for test in finder.find(module, globs={"torch": torch}):
            runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_every_class_has_an_example():
    for name in package.__dict__:
        thing = getattr(package, name)
        if isinstance(thing, type) and issubclass(thing, package.Distribution):
            assert ">>>" in thing.__doc__, name


def test_torch_does_not_import_it():
    code = (
        "import sys, functorch_core.torch as t\n"
        "assert 'functorch_core.torch.distributions' not in sys.modules\n"
        "t.distributions.Normal\n"
        "assert 'functorch_core.torch.distributions.kl' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_under_the_shim():
    code = (
        "import functorch_core.shim; functorch_core.shim.install()\n"
        "import pickle, torch, torch.distributions as d\n"
        "from torch.distributions.normal import Normal\n"
        "from torch.distributions import constraints, kl, transforms, utils\n"
        "from torch.distributions.utils import broadcast_all, lazy_property\n"
        "assert Normal is d.Normal and Normal.__module__ == 'torch.distributions.normal'\n"
        "x = d.Normal(torch.zeros(2), 1.)\n"
        "assert b'torch.distributions.normal' in pickle.dumps(x)\n"
        "assert repr(pickle.loads(pickle.dumps(x))) == repr(x)\n"
        "assert 'torch.distributions.chi2' in str(d.Chi2)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_same_modules():
    theirs = {m.name for m in pkgutil.iter_modules(reference.distributions.__path__)}
    assert theirs <= {name.rpartition(".")[2] for name in MODULES}
