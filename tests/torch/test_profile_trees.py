"""What operators are made of in profiles: names, counts and nesting are PyTorch's, of calls and the quickstart."""

from __future__ import annotations

import re
import runpy
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from functorch_core import torch
from tests.nn.test_docs import torch_is_ours

from .agree import reference as real

PROGRAMS = (Path(__file__).parent / "profile_programs.txt").read_text().splitlines()
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PASSES = """F.linear(x, w, v); F.linear(b, w, v); F.linear(x, w); F.relu(x); x.tanh(); x * x; x * 2; x.exp(); x.mean()
F.mse_loss(x, c); F.cross_entropy(x, i); F.conv2d(im, k, v); F.batch_norm(im, None, None, v, v, True); x.softmax(1)
F.layer_norm(x, (3,), v, v); F.max_pool2d(im, 2); F.embedding(i, x); x @ w; F.dropout(x); x.flatten(); x.t(); x[0]
x[1:]; torch.cat([x, x]); F.gelu(x); F.avg_pool2d(im, 2); F.silu(x); x.sigmoid(); x.log(); 1 - x; x.sqrt()
F.binary_cross_entropy_with_logits(x, c); b @ b; F.adaptive_avg_pool2d(im, 1)"""
STEPS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {}),
]


def tree(event) -> str:
    """An event and what it is made of, as text."""
    parts = [tree(e) for e in sorted(event.cpu_children, key=lambda e: e.time_range.start)]
    return event.name + (f"({' '.join(parts)})" if parts else "")


def profile(lib, program, **options):
    """The profile of a function."""
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **options) as taken:
        program()
    return taken


def trees(lib, program) -> list[str]:
    """The trees of what a function calls."""
    return [tree(e) for e in profile(lib, program).events() if e.cpu_parent is None]


def names(lib, **options) -> dict:
    """What programs are about."""
    shapes = {"x": (2, 3), "b": (2, 3, 3), "v": (3,), "w3": (3, 3), "im": (2, 3, 8, 8), "k": (3, 3, 3, 3)}
    made = {name: lib.ones(shape, **options) for name, shape in shapes.items()}
    made |= {"w2": lib.ones(2), "kb": lib.ones(3), "rm": lib.zeros(3), "rv": lib.ones(3), "n": np.ones(3)}
    return made | {"torch": lib, "F": lib.nn.functional, "i": lib.tensor([0, 1]), "c": lib.ones(2, 3), "w": made["w3"]}


def called(lib, programs: list[str]) -> dict[str, list[str]]:
    """The trees of each program."""
    found = {}
    for program in programs:
        given = names(lib)
        found[program] = trees(lib, lambda: exec(program, given))  # noqa: B023
    return found


def test_calls_are_made_of_pytorchs_operators():
    assert len(PROGRAMS) > 180
    assert called(torch, PROGRAMS) == called(real, PROGRAMS)


def test_backward_passes_are_made_of_pytorchs_operators():
    def passes(lib) -> dict[str, Counter]:
        found = {}
        for program in [p.strip() for line in PASSES.splitlines() for p in line.split(";")]:
            y = eval(program, given := names(lib, requires_grad=True))
            found[program] = Counter(trees(lib, lambda: y.backward(lib.ones_like(y))))  # noqa: B023
            assert given
        return found

    assert passes(torch) == passes(real)  # which order nodes without an order have is not told


@pytest.mark.parametrize("name, options", STEPS)
def test_steps_are_made_of_pytorchs_operators(name, options):
    def steps(lib) -> list[list[str]]:
        parameter = lib.nn.Parameter(lib.ones(3))
        optimizer, found = getattr(lib.optim, name)([parameter], **options), []
        for _ in range(2):
            parameter.grad = lib.ones(3)
            found.append(trees(lib, optimizer.step))
        return found

    assert steps(torch) == steps(real)


def quickstart(ours: bool, **options):
    """The profile of an epoch of examples/quickstart.py, of fewer images; the library is `torch` meanwhile."""
    with torch_is_ours() if ours else nullcontext():
        import torch as lib

        example = runpy.run_path(str(EXAMPLES / "quickstart.py"))
        lib.manual_seed(0)

        def epoch():
            digits = [*zip(*[part[:70] for part in vars(example["Digits"](train=True)).values()], strict=True)]
            loader = lib.utils.data.DataLoader(digits, batch_size=32, shuffle=True)
            model, loss = example["Network"]().to("cpu"), lib.nn.CrossEntropyLoss()
            optimizer = lib.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            example["train"](loader, model, loss, optimizer, "cpu")
            example["test"](loader, model, loss, "cpu")

        assert "functorch_core" in sys.modules
        return profile(lib, epoch, **options)


def test_the_quickstart_calls_pytorchs_operators():
    ours, theirs = quickstart(True), quickstart(False)
    assert {e.key: e.count for e in ours.key_averages()} == {e.key: e.count for e in theirs.key_averages()}
    assert len(ours.key_averages()) > 80
    roots = [Counter([tree(e) for e in p.events() if e.cpu_parent is None]) for p in (ours, theirs)]
    assert roots[0] == roots[1]


def test_shapes_of_the_quickstart_are_pytorchs():
    options = {"record_shapes": True}
    averages = [quickstart(mine, **options).key_averages(group_by_input_shape=True) for mine in (True, False)]
    ours, theirs = [
        {(e.key, str(e.input_shapes)): e.count for e in listed if e.key not in UNLIKE} for listed in averages
    ]
    assert ours == theirs and len(ours) > 200


UNLIKE = {  # which overload of `to`, and shapes that are known when an operator has run
    "aten::lift_fresh",
    "aten::randperm",
    "aten::resize_",
    "aten::to",
}


def test_times_of_parts_are_shares_of_their_operator():
    x, w, v = torch.ones(64, 64), torch.ones(64, 64), torch.ones(64)
    taken = profile(torch, lambda: torch.nn.functional.linear(x, w, v))
    events = {e.name: e for e in taken.events()}
    linear, product = events["aten::linear"], events["aten::addmm"]
    assert product.cpu_time_total == pytest.approx(linear.cpu_time_total) and linear.cpu_time_total > 0
    assert events["aten::as_strided"].cpu_time_total == 0
    assert all(e.self_cpu_time_total >= 0 for e in events.values())
    assert "are shares" in taken.key_averages().table()


def test_every_rule_is_of_an_operator():
    """What operators are made of stands by their names, which PyTorch has; nodes are named by operators."""
    from functorch_core.torch.compat.autograd import node_parts, operator_parts, sketches

    assert operator_parts.made_of is sketches.made_of
    assert [name for name in sketches.RULES if not hasattr(real.ops.aten, name)] == []
    stems = [re.sub(r"(Backward)?\d*$", "", name) for name in node_parts.NODE_RULES if "::" not in name]
    snakes = [re.sub(r"(?<=[a-z0-9D])(?=[A-Z])", "_", stem).lower().replace("2_d", "2d") for stem in stems]
    assert [n for n in snakes if not any(hasattr(real.ops.aten, form) for form in (n, f"_{n}", f"{n}_"))] == []
