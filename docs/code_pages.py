"""The source on the site: a page of each file that a name of the reference is written in, with anchors for lines."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import torch_names
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

FOLDER = "code"
linked: set[str] = set()  # files, below the repository's root


def link(thing: object, name: str) -> str:
    """Where a thing is written, as HTML on the page of a name; "" of what is none of ours."""
    op = torch_names.declaration(thing)
    file = torch_names.declared_in(op) if op else torch_names.source(thing) or torch_names.source(type(thing))
    if not file:
        return ""
    linked.add(file)
    line = _line(op or thing, file, name)
    where = f", line {line}" if line > 1 else ""
    return f'<a href="../../{FOLDER}/{file}.html#L-{line}"><code>{file}</code></a>{where}'


def _line(thing, file: str, name: str) -> int:
    """The line of a definition: of the function's code, or where its name is bound."""
    thing = thing.fget if isinstance(thing, property) else getattr(thing, "fun", thing)
    code = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__code__", None)
    known = _bound(file)
    bound = known.get(name) or known.get(getattr(thing, "__name__", ""), 1)
    if code is None or torch_names.below_root(code.co_filename) != file:
        return bound
    return bound if "<locals>" in code.co_qualname and bound > 1 else code.co_firstlineno  # made by another function


@functools.cache
def _bound(file: str) -> dict[str, int]:
    """The first line of each name that a file defines or assigns."""
    found: dict[str, int] = {}
    for number, line in enumerate(_text(file).splitlines(), 1):
        match = re.match(r"\s*(?:class |def )?((?:\w+, )*\w+)\b(?=\s*[=(:])", line)
        for name in match[1].split(", ") if match else ():
            found.setdefault(name, number)
    return found


@functools.cache
def _text(file: str) -> str:
    return (torch_names.ROOT / file).read_text(encoding="utf-8")


def pages(app) -> Iterator[tuple[str, dict, str]]:
    """The pages, for Sphinx's event html-collect-pages."""
    formatter = HtmlFormatter(lineanchors="L", linenos="inline", anchorlinenos=True)
    for file in sorted(linked):
        body = f"<h1>{Path(file).name}</h1><p><code>{file}</code></p>{highlight(_text(file), PythonLexer(), formatter)}"
        yield f"{FOLDER}/{file}", {"title": file, "body": body}, "page.html"
