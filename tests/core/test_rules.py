"""Every primitive has every rule, or a reason why not; the table in docs/ says the same."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import functorch_core  # noqa: F401  declares every primitive
from functorch_core.core.primitive import RULES, Reason, registry

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", sorted(registry))
def test_every_rule_is_there_or_says_why_not(name):
    primitive = registry[name]
    for rule in RULES:
        found = getattr(primitive, rule)
        assert callable(found) or (isinstance(found, Reason) and len(found) > 10), (
            f"{name} has neither a {rule} rule nor a reason"
        )
    assert primitive.family, f"{name} belongs to no family"


def test_the_table_in_docs_is_up_to_date():
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert (ROOT / "docs" / "primitives.md").read_text(encoding="utf-8") == build.primitive_table()
