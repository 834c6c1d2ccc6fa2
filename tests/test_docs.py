"""Every example in a docstring of the package runs and gives what it says."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.ops.op import Op

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+)(?:e[-+]?\d+)?")
# Packages whose examples need what a test run may lack, or that are tried by their own tests.
LEFT_OUT = (
    "functorch_core.torch",
    "functorch_core.nn",
    "functorch_core.optim",
    "functorch_core.data",
    "functorch_core.__main__",
)


class Checker(doctest.OutputChecker):
    """Floats are compared with a tolerance: their last digits are the machine's."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = (list(map(float, NUMBER.findall(text))) for text in (want, got))
        frames = ["".join(NUMBER.sub("#", text).split()) for text in (want, got)]
        return (
            frames[0] == frames[1]
            and len(wanted) == len(found)
            and all(abs(w - f) <= 1e-5 * max(abs(w), 1e-3) for w, f in zip(wanted, found))
        )


def modules(path=fc.__path__, prefix="functorch_core."):
    for info in pkgutil.iter_modules(path, prefix):
        if not info.name.startswith(LEFT_OUT):
            module = importlib.import_module(info.name)
            yield module
            if info.ispkg:
                yield from modules(module.__path__, info.name + ".")


def documented():
    """(name, docstring) of everything that has an example: functions, methods, operations."""
    seen = set()
    for module in modules():
        for name, item in vars(module).items():
            if inspect.ismodule(item) or isinstance(item, np.ndarray):
                continue
            for path, obj in [(name, item), *_members(name, item)]:
                text = getattr(obj, "__doc__", None)
                if not isinstance(text, str) or ">>>" not in text or text in seen:
                    continue
                seen.add(text)
                yield f"{module.__name__}.{path}", text


def _members(name, item):
    if not inspect.isclass(item) or not item.__module__.startswith("functorch_core"):
        return []
    return [(f"{name}.{k}", v) for k, v in vars(item).items() if not k.startswith("__")]


EXAMPLES = sorted(documented())


def test_the_examples_of_every_layer_are_found():
    found = {name.split(".")[1] for name, _ in EXAMPLES}
    assert {"array", "core", "engine"} <= found and len(EXAMPLES) > 200


@pytest.mark.parametrize("name, text", EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_runs(name, text):
    test = doctest.DocTestParser().get_doctest(text, {"fc": fc}, name, None, 0)
    runner = doctest.DocTestRunner(Checker(), optionflags=FLAGS, verbose=False)
    report = []
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


# ---- what every public function's docstring has --------------------------------------------------------------


def public_functions():
    for namespace in (fc, fc.linalg, fc.fft):
        for name in getattr(namespace, "__all__", dir(namespace)):
            item = getattr(namespace, name)
            if not name.startswith("_") and inspect.isfunction(item):
                yield f"{namespace.__name__}.{name}", item


PUBLIC = sorted(public_functions(), key=lambda pair: pair[0])


@pytest.mark.parametrize("name, function", PUBLIC, ids=[name for name, _ in PUBLIC])
def test_a_public_function_has_a_line_and_an_example(name, function):
    assert function.__doc__ and ">>> " in function.__doc__, f"{name} has no example"
    first = function.__doc__.strip().splitlines()[0]
    assert len(first) <= 100, f"{name}: the first line is long"
    inspect.signature(function)


def test_operations_are_exposed_with_their_signature():
    from functorch_core.ops import elementwise

    assert isinstance(elementwise.clip, Op)
    assert str(inspect.signature(fc.clip)) == "(x, /, min=None, max=None)"
    assert fc.clip.__name__ == "clip"


# ---- docs/reading_order.md ---------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parent.parent
READING = (ROOT / "docs" / "reading_order.md").read_text(encoding="utf-8")
TO_READ = re.findall(r"`(\S+\.py): ([^`]+)`", READING)


def definitions(body, prefix=""):
    """(name, lines of it) of everything that is defined, Class.method too."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
            yield prefix + node.name, set(range(first, node.end_lineno + 1))
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{node.name}.")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield ast.unparse(target), set(range(node.lineno, node.end_lineno + 1))


def test_the_reading_order_names_what_exists_and_is_short():
    assert len(TO_READ) == 7
    total = 0
    for file, names in TO_READ:
        found = dict(definitions(ast.parse((ROOT / file).read_text(encoding="utf-8")).body))
        missing = [name for name in names.split(", ") if name not in found]
        assert not missing, f"{file} does not define {missing}"
        total += len(set().union(*(found[name] for name in names.split(", "))))
    assert total <= 700


def test_the_graphs_of_the_reading_order_are_those_that_are_made():
    test_the_example_runs("reading_order", READING.replace("```", ""))
