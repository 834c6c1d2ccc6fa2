"""Every primitive has every rule, or a reason why not; the table in docs/ says the same."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import functorch_core  # noqa: F401  declares every primitive
from functorch_core.core.primitive import FAMILIES, NOT_LINEAR, RULES, Primitive, Reason, Traits, registry

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", sorted(registry))
def test_every_rule_is_there_or_says_why_not(name):
    primitive = registry[name]
    for rule in RULES:
        found = getattr(primitive, rule)
        assert callable(found) or (isinstance(found, Reason) and len(found) > 10), (
            f"{name} has neither a {rule} rule nor a reason"
        )
    assert isinstance(primitive.traits, Traits)


def test_every_family_has_primitives():
    assert {primitive.traits.family for primitive in registry.values()} == FAMILIES


@pytest.mark.parametrize("name", sorted(registry))
def test_traits_do_not_contradict_each_other(name):
    traits = registry[name].traits
    assert not (traits.free and traits.expensive)
    assert traits.elementwise or not traits.broadcasts
    assert traits.numpy >= 0 and traits.repeats >= 1
    assert callable(traits.compile) or traits.compile >= 0


@pytest.mark.parametrize("name", [name for name in sorted(registry) if registry[name].traits.broadcasts])
def test_a_reference_that_broadcasts_does(name):
    primitive, dtype = registry[name], bool if name in ("and", "or", "xor", "select") else np.float32
    operands = [np.ones(shape, dtype) for shape in ((3, 1), (3, 4), (1, 4))]
    operands = operands if name in ("select", "clamp") else operands[:2]
    assert primitive.reference(*operands).shape == (3, 4)


def test_unknown_traits_and_families_are_errors():
    with pytest.raises(TypeError, match="colour"):
        Traits(family="elementwise", colour="red")
    with pytest.raises(TypeError, match="colour"):
        registry["add"].traits.but(colour="red")
    with pytest.raises(TypeError, match="family"):
        Traits()
    with pytest.raises(ValueError, match="no family of primitives is named 'windows'; there are .*window"):
        Traits(family="windows")
    with pytest.raises(TypeError, match="traits"):
        Primitive("square", **dict.fromkeys(RULES, NOT_LINEAR))
    assert "square" not in registry


def test_the_table_in_docs_is_up_to_date():
    spec = importlib.util.spec_from_file_location("generated", ROOT / "docs" / "generated.py")
    generated = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generated)
    assert (ROOT / "docs" / "primitives.md").read_text(encoding="utf-8") == generated.primitive_table()
