"""Build the documentation: python docs/build.py [--check]

Writes docs/primitives.md and docs/torch_names.md from the code (with --check: fails if they are not up to
date), then turns every docs/*.md into HTML under docs/_site (needs the `docs` extra).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import torch_names  # noqa: E402  found beside this file, however it is run

PAGES = (
    "index",
    "tutorial",
    "reading_order",
    "extending",
    "primitives",
    "torch_names",
    "coming_from_jax",
    "engine",
    "differences",
    "conformance",
    "performance",
    "architecture",
    "next",
)


def primitive_table() -> str:
    """The table of primitive x rule, as Markdown."""
    import functorch_core  # noqa: F401  declares every primitive
    from functorch_core.core.primitive import RULES, registry

    lines = [
        "# Primitives",
        "",
        "Generated from the code by `python docs/build.py`. A cell says `yes`, or why there is no such rule.",
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


def build_html():
    """Every page as HTML, with a list of the pages on top."""
    import markdown

    site = DOCS / "_site"
    site.mkdir(exist_ok=True)
    pages = [name for name in PAGES if (DOCS / f"{name}.md").exists()]
    links = " · ".join(f'<a href="{name}.html">{name}</a>' for name in pages)
    for name in pages:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        body = markdown.markdown(text, extensions=["tables", "fenced_code", "toc"])
        html = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name} - '
            "functorch-core</title><style>img{max-width:100%}body{max-width:60em;margin:2em auto;font-family:"
            "sans-serif;line-height:1.5}pre{background:#f4f4f4;padding:.7em;overflow:auto}"
            "td,th{border:1px solid #ccc;padding:.2em .5em}table{border-collapse:collapse}"
            f"</style></head><body><p>{links}</p>{body}</body></html>"
        )
        (site / f"{name}.html").write_text(html, encoding="utf-8")
    shutil.copy(DOCS / "layers.svg", site)
    print(f"{len(pages)} pages in {site}")


def main():
    """Build, or check that the generated page is up to date."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    path, table = DOCS / "primitives.md", primitive_table()
    if check:
        if not path.exists() or path.read_text(encoding="utf-8") != table:
            sys.exit("docs/primitives.md is not up to date; run python docs/build.py")
    else:
        path.write_text(table, encoding="utf-8")
    torch_names.main()
    build_html()


if __name__ == "__main__":
    main()
