"""What docs/differences.md says of a name, for its page: the items in which it stands as code."""

from __future__ import annotations

import builtins
import functools
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "differences.md"
CODE = re.compile(r"`([A-Za-z_][\w.]*)(?:\(.*?\))?`")  # `sort`, `torch.stack`, `logit(x, eps)`
LINK = re.compile(r"\]\((?!https?:)([\w./#-]+)\)")
LONG = 250
UP = "../../"  # from the page of a name


def page(title: str, name: str) -> list[str]:
    """The lines of a name's page: the items that name it, each with a link to its section."""
    found = [(heading, _sentences(text, title, name)) for heading, text in items() if _names(text, title, name)]
    if not found:
        return []
    lines = ["**Differs from PyTorch**", ""]
    for heading, text in found:
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        shown = LINK.sub(lambda link: f"]({UP}{link[1]})", text)
        lines.append(f"- {shown} ([{heading}]({UP}differences.md#{anchor}))")
    return [*lines, ""]


@functools.cache
def items() -> list[tuple[str, str]]:
    """(heading, text) of each item and paragraph."""
    found, heading = [], ""
    for block in re.split(r"\n\s*\n|\n(?=- )", PAGE.read_text(encoding="utf-8")):
        if block.startswith("#"):
            heading = block.splitlines()[0].lstrip("# ")
        else:
            found.append((heading, " ".join(block.removeprefix("- ").split())))
    return found


def _sentences(text: str, title: str, name: str) -> str:
    """Of a long item those sentences that name it."""
    if len(text) <= LONG:
        return text
    sentences = re.split(r"(?<=\.) (?=[A-Z`])", text)
    return " ".join(sentence for sentence in sentences if _names(sentence, title, name))


def _names(text: str, title: str, name: str) -> bool:
    return any(_means(code, title, name) for code in CODE.findall(text))


def _means(code: str, title: str, name: str) -> bool:
    """Whether code is a name of a chapter: `vjp` and `func.vjp` are torch.func's, `x.view` is Tensor's."""
    above, _, last = code.rpartition(".")
    return last == name and (not above and not hasattr(builtins, code) or title == above or title.endswith(f".{above}"))
