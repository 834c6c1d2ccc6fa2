"""The documentation's code blocks run: each page's, in order, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from functorch_core import engine
from functorch_core.core.primitive import registry

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDES = ("index", "coming_from_pytorch", "functional_research", "why_it_is_slow")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def same_state():
    """A page may declare a primitive and turn the log on; both are as before afterwards."""
    before = dict(registry)
    yield
    engine.set_log(False)
    for name in set(registry) - set(before):
        del registry[name]


@pytest.mark.usefixtures("same_state")
@pytest.mark.parametrize("page", ["tutorial", "engine", "several_devices", "distributed", "both_faces", *GUIDES])
def test_code_blocks_run(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert blocks
    namespace: dict = {}
    for i, block in enumerate(blocks):
        exec(compile(block, f"{page}.md, block {i}", "exec"), namespace)
