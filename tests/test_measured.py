"""The dtypes, shapes and errors on the pages of the reference: how many names have them, and that PyTorch's are these.

Of the functions and layers a third is looked at, chosen by name, so that a new one does not change which.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import warnings
import zlib
from pathlib import Path

import pytest
import torch as real

import functorch_core as fc
from functorch_core import nn, optim, torch
from tests.nn.test_docs import torch_is_ours
from tests.torch.test_described_errors import ERRORS, told

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import known_differences  # noqa: E402  the makers of the pages
import measured  # noqa: E402
import reference  # noqa: E402
import torch_names  # noqa: E402

MEASURED = 0.95  # of the functions and layers; may only rise
AGREEING = 0.94  # of the calls; may only rise
# PyTorch dies of a step of 0, compiles the loop, and reads beyond arrays that do not fit in the others.
LEFT_OUT = set("range while_loop ctc_loss CTCLoss lstm lu_unpack embedding_bag EmbeddingBag".split())
OURS = {"torch": torch, "nn": nn, "optim": optim, "fc": fc, "F": nn.functional}
THEIRS = {"torch": real, "nn": real.nn, "optim": real.optim, "F": real.nn.functional}
pytestmark = pytest.mark.xdist_group("reference")


def chosen():
    """(chapter, name, thing) of a third of the ops and layers of the PyTorch face, each once."""
    seen = set()
    for title in reference.OPS:
        for name, thing in reference.everything()[title].items():
            layer = title in ("torch.nn", "torch.distributions", "torch.optim") and inspect.isclass(thing)
            ours = layer or torch_names.declaration(thing) is not None
            if title not in reference.FC and ours and zlib.crc32(name.encode()) % 3 == 0:
                if (name, reference.words(thing)) not in seen and name not in LEFT_OUT:
                    seen.add((name, reference.words(thing)))
                    yield title, name, thing


@functools.cache
def calls() -> dict[str, tuple]:
    """Name -> what is measured here and of PyTorch, None where there is nothing to measure."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, name, thing in chosen():
            torch.manual_seed(0), real.manual_seed(0)
            text = reference.words(thing)
            with torch_is_ours():
                sample = measured.sample(name, thing, text, OURS)
                here = sample and measured.measure(sample, torch)
            found[f"{title}.{name}"] = here, _theirs(title, name, text, sample) if here else None
    return found


def _theirs(title, name, text, like):
    home = functools.reduce(getattr, title.split(".")[1:], real)
    thing = getattr(home, name, getattr(real.Tensor, name, None))  # torch.abs_ of here is Tensor.abs_ of theirs
    there = measured.sample(name, thing, text, THEIRS, like) if thing is not None else None
    return there and measured.measure(there, real)


def outcomes(of_one: measured.Measured) -> dict[tuple, str]:
    """What was called -> the result, or the class of the error."""
    rows = [("dtypes", dtype, told) for what, told in of_one.dtypes for dtype in what.split(", ")]
    rows += [(kind, what, told) for kind in ("shapes", "errors") for what, told in getattr(of_one, kind)]
    return {(kind, what): told.partition(":")[0] if measured.is_error(told) else told for kind, what, told in rows}


def pairs():
    """(name, call, what it gave here, what in PyTorch)."""
    for name, (here, there) in calls().items():
        if here and there:
            ours, theirs = outcomes(here), outcomes(there)
            for call in {**ours, **theirs}:
                yield name, call, ours.get(call), theirs.get(call)


def test_most_functions_and_layers_are_measured():
    assert sum(here is not None for here, _ in calls().values()) >= MEASURED * len(calls())


def test_calls_that_both_libraries_take_have_results_of_one_dtype_and_shape():
    found = [p for p in pairs() if None not in p and not measured.is_error(p[2]) and not measured.is_error(p[3])]
    assert len(found) > 2000
    assert not [p for p in found if p[2] != p[3]]


def test_calls_are_refused_as_by_pytorch():
    found = list(pairs())
    assert sum(ours == theirs for _, _, ours, theirs in found) >= AGREEING * len(found)


def test_errors_named_in_descriptions_are_raised():
    provoked = {(call.partition("(")[0].rpartition(".")[2], error) for call, error in told(ERRORS)}
    for title, name, thing in chosen():
        here = calls()[f"{title}.{name}"][0]
        raised = set(outcomes(here).values()) if here else set()
        for error in re.findall(r"\b[A-Z]\w+Error\b", reference.words(thing)):
            assert error in raised or (name, error) in provoked, f"{title}.{name}: {error}"


def test_what_a_page_says():
    with torch_is_ours():
        sample = measured.sample("topk", torch.topk, torch.topk.__doc__, OURS)
        page = "\n".join(measured.measure(sample, torch).page())
    assert "| uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 | the same, int64 |" in page
    assert "| `(2, 3)` | `(2, 2), (2, 2)` |" in page
    assert "- `dim=9`: `IndexError: Dimension out of range" in page


def test_distributions_and_optimizers_are_measured():
    """By a sample, and by the parameters after a step; but of those that take functions, or are bases of others."""
    seen = {title: [] for title in ("torch.distributions", "torch.optim")}
    with torch_is_ours(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, found in seen.items():
            for name, thing in reference.everything()[title].items():
                if inspect.isclass(thing):
                    call = measured.sample(name, thing, reference.words(thing), OURS)
                    found.append((name, call and measured.measure(call, torch)))
    there = {title: dict(found) for title, found in seen.items()}
    for found in there.values():
        assert sum(of_one is not None for of_one in found.values()) >= 0.75 * len(found)
    assert any(what == "scale of -1" for what, _ in there["torch.distributions"]["Normal"].errors)
    assert "lr=-1" in [what for what, _ in there["torch.optim"]["Adam"].errors]


def test_what_differs_from_pytorch_stands_on_the_page():
    assert "stable; PyTorch picks" in "".join(known_differences.page("torch", "topk"))
    assert "(../../differences.md#numbers)" in "".join(known_differences.page("torch.Tensor", "topk"))
    assert known_differences.page("torch", "tanh") == []
