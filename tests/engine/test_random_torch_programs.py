"""Random programs on torch Tensors, with views, writes, gradients and indices: all tiers agree with
immediate mode, and each repeats itself bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functorch_core import torch

from .agreement import check_repeated, check_tiers, random_programs

UNARY = ("sin", "tanh", "abs", "neg", "square", "sigmoid")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
WRITES = ("add_", "mul_", "copy_")
NUMBERS = (0, 1, -1, 2, 0.5, 3.25, -0.75, 7)
index = st.integers(0, 7)

step = st.one_of(
    st.tuples(st.sampled_from(UNARY), index),
    st.tuples(st.sampled_from(BINARY), index, index),
    st.tuples(st.just("number"), st.sampled_from(BINARY[:3]), index, st.sampled_from(NUMBERS)),
    st.tuples(st.just("view"), index, st.integers(0, 3)),
    st.tuples(st.sampled_from(WRITES), index, index),
    st.tuples(st.just("rows"), index, st.lists(st.integers(-3, 2), min_size=3, max_size=3)),
    st.tuples(st.just("order"), index),
    st.tuples(st.just("matmul"), index, index),
    st.tuples(st.just("gradient"), index),
    st.tuples(st.just("look"), index),
    st.tuples(st.just("forget"), index),
)
programs = st.lists(step, min_size=1, max_size=20)


def view_of(x, kind: int):
    return (x.T, x.flip(0), x[1:].repeat(2, 1)[:3], x.reshape(9).view(3, 3))[kind]


def gradient(x):
    leaf = x.detach().clone().requires_grad_()
    (torch.sin(leaf) * leaf).sum().backward()
    return leaf.grad


def execute(program) -> list[np.ndarray]:
    """Run a program on two 3 x 3 tensors; what it has at the end and what it looked at."""
    start = torch.linspace(-1, 1, 9).reshape(3, 3)
    stack, seen = [start.clone(), start.T * 0.5], []
    for name, *args in program:

        def pick(i):
            return stack[i % len(stack)]

        if name == "number":
            stack.append(getattr(pick(args[1]), args[0])(args[2]))
        elif name == "view":
            stack.append(view_of(pick(args[0]), args[1]))
        elif name in WRITES:
            target = pick(args[0])
            getattr(target, name)(pick(args[1]).clone().tanh())
        elif name == "rows":
            stack.append(pick(args[0])[torch.tensor(args[1])])
        elif name == "order":
            x = pick(args[0])
            stack.append(x[x.sum(1).argsort()])
        elif name == "matmul":
            stack.append(torch.tanh(pick(args[0]) @ pick(args[1])))
        elif name == "gradient":
            stack.append(gradient(pick(args[0])).tanh())
        elif name == "look":
            seen.append(pick(args[0]).numpy())
        elif name == "forget":
            if len(stack) > 2:
                stack.pop(args[0] % len(stack))
        else:
            stack.append(getattr(torch, name)(*map(pick, args)))
    return seen + [x.numpy() for x in stack]


@random_programs(40)
@given(programs)
def test_every_tier_gives_the_same_values(program):
    check_tiers(lambda: execute(program), ("reference", "immediate", "auto"))


@random_programs(10)
@given(programs)
def test_fused_and_per_op_programs_give_the_same_values(program):
    check_tiers(lambda: execute(program), ("fused", "per-op"))


@pytest.mark.parametrize("seed", range(3))
def test_programs_repeated_until_they_are_compiled(seed):
    rng = np.random.default_rng(seed)
    program = [
        (BINARY[rng.integers(5)], int(rng.integers(8)), int(rng.integers(8)))
        if rng.random() < 0.3
        else (UNARY[rng.integers(2)], int(rng.integers(8)))
        for _ in range(60)
    ]
    check_repeated(lambda: execute(program), 8)
