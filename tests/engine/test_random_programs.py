"""Random programs: every tier and immediate mode give the same values; a mode repeats itself bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import functorch_core as fc

from .agreement import check_repeated, check_tiers, random_programs

UNARY = ("sin", "tanh", "abs", "negative", "square", "floor")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
NUMBERS = (0, 1, -1, 2, 0.5, 3.25, -0.75, 7)

step = st.one_of(
    st.tuples(st.sampled_from(UNARY), st.integers(0, 7)),
    st.tuples(st.sampled_from(BINARY), st.integers(0, 7), st.integers(0, 7)),
    st.tuples(st.just("number"), st.sampled_from(BINARY), st.integers(0, 7), st.sampled_from(NUMBERS)),
    st.tuples(st.just("sum"), st.integers(0, 7)),
    st.tuples(st.just("flip"), st.integers(0, 7)),
    st.tuples(st.just("matmul"), st.integers(0, 7), st.integers(0, 7)),
    st.tuples(st.just("look"), st.integers(0, 7)),
    st.tuples(st.just("forget"), st.integers(0, 7)),
)
programs = st.lists(step, min_size=1, max_size=25)


def execute(program) -> list[np.ndarray]:
    """Run a program on two 3 x 3 arrays; everything it still has at the end, and what it looked at."""
    start = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
    stack, seen = [fc.asarray(start), fc.asarray(start.T * 0.5)], []
    for name, *args in program:

        def pick(i):
            return stack[i % len(stack)]

        if name == "number":
            op, i, number = args
            stack.append(getattr(fc, op)(pick(i), number))
        elif name == "sum":
            stack.append(pick(args[0]).sum(axis=0, keepdims=True) * 0.1 + pick(0))
        elif name == "flip":
            stack.append(pick(args[0])[::-1])
        elif name == "matmul":
            stack.append(fc.tanh(pick(args[0]) @ pick(args[1])))
        elif name == "look":
            seen.append(np.asarray(pick(args[0])))
        elif name == "forget":
            if len(stack) > 2:
                stack.pop(args[0] % len(stack))
        else:
            stack.append(getattr(fc, name)(*map(pick, args)))
    return seen + [np.asarray(x) for x in stack]


@random_programs(40)
@given(programs)
def test_every_tier_gives_the_same_values(program):
    check_tiers(lambda: execute(program), ("reference", "immediate", "auto"))


@random_programs(12)
@given(programs)
def test_fused_programs_give_the_same_values(program):
    check_tiers(lambda: execute(program), ("fused",))


@pytest.mark.parametrize("seed", range(3))
def test_long_random_programs_repeated_until_compiled(seed):
    rng = np.random.default_rng(seed)
    program = [
        ("number", BINARY[rng.integers(5)], int(rng.integers(8)), NUMBERS[rng.integers(8)])
        if rng.random() < 0.3
        else (UNARY[rng.integers(2)], int(rng.integers(8)))
        for _ in range(60)
    ]
    check_repeated(lambda: execute(program), 6)
