"""Write what docs/ has of generated pages: python docs/generated.py [--check]

docs/primitives.md, docs/chapters.md and docs/torch_names.md, from the code; with --check: fails if they are not up to
date. The pages of the reference are written when the site is built (reference.py).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import chapters  # noqa: E402  found beside this file, however it is run
import torch_names  # noqa: E402


def primitive_table() -> str:
    """The table of primitive x rule, as Markdown."""
    import functorch_core  # noqa: F401  declares every primitive
    from functorch_core.core.primitive import RULES, registry

    lines = [
        "# Primitives",
        "",
        "Generated from the code by `python docs/generated.py`. A cell says `yes`, or why there is no such rule.",
        "",
    ]
    families: dict[str, list] = {}
    for primitive in registry.values():
        families.setdefault(primitive.traits.family, []).append(primitive)
    lines.append(f"{len(registry)} primitives in {len(families)} families.")
    for family in sorted(families):
        lines += ["", f"## {family}", "", "| primitive | " + " | ".join(RULES) + " |", "|---" * (len(RULES) + 1) + "|"]
        for primitive in sorted(families[family], key=lambda q: q.name):
            cells = [_cell(getattr(primitive, rule)) for rule in RULES]
            lines.append(f"| `{primitive.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(rule) -> str:
    if callable(rule):
        return "yes"
    return " ".join(str(rule).split("\n")[0].split()).replace("|", "\\|") if rule else "MISSING"


def main():
    """Write the pages, or check that they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for path, text in ((DOCS / "primitives.md", primitive_table()), (chapters.PAGE, chapters.page())):
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"docs/{path.name} is not up to date; run python docs/generated.py")
    torch_names.main()


if __name__ == "__main__":
    main()
