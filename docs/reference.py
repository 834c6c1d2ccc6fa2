"""Write the reference, a page for every public name of both faces: called by conf.py, before Sphinx reads.

The pages are made of docstrings, so that `tests/test_docs.py` executes their examples. They lie in
docs/reference/, which is not kept.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import functools
import inspect
import io
import multiprocessing
import re
import shutil
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import code_pages
import known_differences
import measured
import measured_classes
import torch_names

import functorch_core as fc
from functorch_core import nn, optim, shim, torch

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "reference"
FC = "fc fc.linalg fc.fft fc.random fc.engine fc.Array".split()
# Chapters of functions and layers, whose dtypes, shapes and errors are measured; those of classes: measured_classes.
OPS = (
    "torch torch.Tensor torch.nn torch.nn.functional torch.linalg torch.fft torch.special fc fc.linalg fc.fft fc.Array"
).split()
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
MISSING = "not there: raises NotImplementedError when it is used"
NO_WORDS = "There is no description of it yet; it behaves as PyTorch's."


def write() -> int:
    """Write all pages; their number."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:  # what examples set stays there
        found = apart.submit(measurements).result()
    chapters = {title: chapter(title, names, found) for title, names in everything().items()}
    for title, (text, pages) in chapters.items():
        folder = FOLDER / title
        folder.mkdir()
        (folder / "index.md").write_text(text, encoding="utf-8")
        for name, page in pages.items():
            (folder / f"{name}.md").write_text(page, encoding="utf-8")
    (FOLDER / "index.md").write_text(contents(list(chapters)), encoding="utf-8")
    return sum(len(pages) for _, pages in chapters.values())


@functools.cache
def everything() -> dict[str, dict[str, object]]:
    """Chapter -> name -> object, of the functional face and of PyTorch's modules."""
    found = {title: functional(title) for title in FC}
    for title, module in sorted(torch_names.modules().items()):
        names = dict(torch_names.public(title, module))
        if title == torch_names.MEMBERS:
            names = {name: thing for name, thing in names.items() if callable(thing) or isinstance(thing, property)}
        else:  # what a package has too has its page there
            above = [found.get(package, {}) for package in torch_names.packages_of(title)]
            names = {n: x for n, x in names.items() if not any(n in shown and shown[n] is x for shown in above)}
            names = {n: x for n, x in names.items() if not is_pythons(x)}
        if names:
            found[title] = names
    return found


def is_pythons(thing) -> bool:
    """Whether a name is one of Python's own library, which has its page there: torch.multiprocessing.Queue."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] in sys.stdlib_module_names


def functional(title: str) -> dict[str, object]:
    """The public names of a part of the functional face."""
    part = fc
    for step in title.split(".")[1:]:
        part = getattr(part, step)
    names = getattr(part, "__all__", None) or [n for n in dir(part) if not n.startswith("_")]
    found = {
        name: inspect.getattr_static(part, name) if inspect.isclass(part) else getattr(part, name) for name in names
    }
    return {
        n: x for n, x in sorted(found.items()) if (callable(x) or isinstance(x, property)) and not inspect.ismodule(x)
    }


def measurements() -> dict[tuple[str, str], measured.Measured]:
    """What is measured, by chapter and name."""
    shim.install()  # `import torch` in an example
    known = {"torch": torch, "nn": nn, "optim": optim, "fc": fc, "F": nn.functional}
    found: dict = {}
    by_text: dict = {}  # a method and the function have one description
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is deprecated
        for title in OPS:
            for name, thing in everything()[title].items():
                if callable(thing) and getattr(thing, "is_missing", False) is not True:
                    text = words(thing)
                    if (name, text) not in by_text:
                        torch.manual_seed(0)
                        call = measured.sample(name, thing, text, known)
                        by_text[name, text] = call and measured.measure(call, fc if title in FC else torch)
                    found[title, name] = by_text[name, text]
        for title, name, thing in classes():
            torch.manual_seed(0)
            if measured_classes.is_optimizer(thing, torch):
                found[title, name] = measured_classes.of_optimizer(thing, torch)
            else:
                found[title, name] = measured_classes.of_distribution(name, thing, words(thing), known, torch)
    return found


def classes() -> list[tuple[str, str, type]]:
    """Chapter, name and class of the optimizers and distributions."""
    return [
        (title, name, thing)
        for title, names in everything().items()
        if title.startswith(("torch.optim", "torch.distributions"))
        for name, thing in names.items()
        if measured_classes.is_optimizer(thing, torch) or measured_classes.is_distribution(thing, torch)
    ]


# ---- pages ---------------------------------------------------------------------------------------


def contents(titles: list[str]) -> str:
    """The page of chapters."""
    faces = {
        "The functional face": [t for t in titles if t in FC],
        "The PyTorch face": [t for t in titles if t not in FC],
    }
    lines = ["# Reference", "", "Every public name, chapter by chapter; made of the docstrings of the code."]
    for face, names in faces.items():
        lines += ["", f"## {face}", "", "```{toctree}", ":maxdepth: 1", "", *(f"{name}/index" for name in names), "```"]
    return "\n".join(lines) + "\n"


def chapter(title: str, names: dict[str, object], found: dict) -> tuple[str, dict[str, str]]:
    """The page of a chapter with a row for each name, and the pages of those that are there."""
    rows, pages = [], {}
    for name, thing in sorted(names.items(), key=lambda item: item[0].lower()):
        if getattr(thing, "is_missing", False) is True:
            rows.append(f"| `{name}` | {MISSING} |")
            continue
        file = name if not any(name.lower() == other.lower() for other in pages) else f"{name}-"
        pages[file] = page(title, name, thing, found.get((title, name)))
        rows.append(f"| [`{name}`]({file}.md) | {escaped(first_line(thing))} |")
    there = f"{len(pages)} names" + (
        f", {len(rows) - len(pages)} more are not there." if len(pages) < len(rows) else "."
    )
    text = [f"# {title}", "", there, "", "| name | |", "|---|---|", *rows]
    return "\n".join(text) + "\n", pages


def page(title: str, name: str, thing: object, of_calls: measured.Measured | None = None) -> str:
    """The page of one name: signature, description, examples, what is measured, where it differs and is written."""
    kind = "class" if inspect.isclass(thing) else "property" if isinstance(thing, property) else "function"
    # An orphan: in the tree of contents, which every page shows, 2,800 more would take Sphinx an hour.
    head = [
        "---",
        "orphan: true",
        "---",
        "",
        f"# {title}.{escaped(name)}",
        "",
        f"````{{py:{kind}}} {title}.{name}{signature(thing)}",
        "",
    ]
    body = description(thing) if callable(thing) or kind == "property" else [f"`{thing!r}`"]
    written = code_pages.link(thing, name)
    source = ["", f"Written in {written}."] if written else []
    more = of_calls.page() if of_calls else []
    differs = known_differences.page(title, name) if title not in FC else []
    return "\n".join([*head, *body, *more, *differs, *source, "````", ""])


def signature(thing: object) -> str:
    """(parameters), where they can be found."""
    if isinstance(thing, property) or not callable(thing):
        return ""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    parameters = list(found.parameters.values())
    declared = _declared(thing) if {"args", "rest"} & set(found.parameters) else None
    if declared is not None:
        parameters = declared
    elif _is_method(thing) and parameters[0].name in ("self", "tensor"):
        parameters = parameters[1:]
    plain = [p.replace(annotation=p.empty, default=_default(p)) for p in parameters]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    if text == "(*args, **kwargs)":
        text = _told(thing) or text
    try:
        ast.parse(f"def f{text}: ...")
    except SyntaxError:
        return "(...)"
    return " ".join(text.split())


def _declared(thing: object) -> list[inspect.Parameter] | None:
    """The parameters of the op that a function or a method of tensors hands its arguments to."""
    op, name = torch_names.declaration(thing), getattr(thing, "__name__", "")
    if op is None and _is_method(thing):
        named = [getattr(torch, n, None) for n in (name, name.removesuffix("_"))]
        op = next((x for x in named if isinstance(x, torch_names.OPS)), None)
    if op is None or op is thing:
        return None
    parameters = [p for p in inspect.signature(op).parameters.values() if p.name != "out"]
    if _is_method(thing) and parameters:
        parameters.remove(next((p for p in parameters if p.name in ("input", "self")), parameters[0]))
    return parameters


def _is_method(thing: object) -> bool:
    return vars(torch.Tensor).get(getattr(thing, "__name__", "")) is thing


class _Text(str):
    """What stands for a value in a signature."""

    __repr__ = str.__str__


def _default(parameter: inspect.Parameter) -> object:
    """A default as it is written: of enumerations and functions their names, "..." of what has none."""
    value = parameter.default
    if value is parameter.empty:
        return value
    with contextlib.suppress(SyntaxError):
        ast.parse(repr(value))
        return value
    if isinstance(value, enum.Enum):
        return _Text(f"{type(value).__name__}.{value.name}")
    return _Text(getattr(value, "__name__", "..."))


def _told(thing: object) -> str:
    """The parameters that a paragraph of the docstring tells where the code passes them on: `LSTM(input_size, ...)`."""
    name = getattr(thing, "__name__", "")
    for block in re.split(r"\n\s*\n", words(thing)):
        if block.startswith(f"{name}(") and block.endswith(")"):
            return block.removeprefix(name)
    return ""


def description(thing: object) -> list[str]:
    """The docstring: paragraphs, and examples as code; what the signature shows is left out."""
    text = words(thing)
    if not text:
        return [NO_WORDS]
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if f"{getattr(thing, '__name__', '')}{signature(thing)}" == " ".join(block.split()):
            continue
        if block.lstrip().startswith(">>>"):
            lines += ["```pycon", *inspect.cleandoc(block).splitlines(), "```", ""]
        elif block.startswith("    ") or any(line.lstrip().startswith(("- ", "* ")) for line in block.splitlines()):
            lines += ["```text", *inspect.cleandoc(block).splitlines(), "```", ""]
        else:
            lines += [escaped(block), ""]
    return lines


def words(thing: object) -> str:
    """The docstring that is the thing's own; of Python's own things where they come from."""
    text = inspect.getdoc(thing) or ""
    if text and belongs(thing, text):
        return text
    home = getattr(getattr(thing, "__func__", thing), "__module__", None) or ""
    if home.split(".")[0] in sys.stdlib_module_names:
        return f"Python's own `{home}.{getattr(thing, '__name__', '')}`."
    return ""


def belongs(thing: object, text: str) -> bool:
    """Whether a docstring is the thing's own, not that of a class it is an instance or a child of."""
    if inspect.isclass(thing):
        return "__doc__" in vars(thing) and vars(thing)["__doc__"] is not None
    return text != inspect.getdoc(type(thing))


def first_line(thing: object) -> str:
    """The first sentence of what it does."""
    text = words(thing) if callable(thing) or isinstance(thing, property) else repr(thing)
    return " ".join(text.split("\n\n")[0].split())[:160]


def escaped(text: str) -> str:
    """Text as Markdown shows it unchanged, code in backticks left as it is."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(part if i % 2 else SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))
