"""Few random numbers at a time, made of what is drawn ahead: PyTorch's numbers, and PyTorch's state at each point."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest
import torch as theirs

from functorch_core import torch as ours

P = [[0.1, 0.9, 0.5], [0.0, 1.0, 0.3]]
DRAWS = {
    "rand": lambda lib, i: lib.rand(4),
    "rand 0-d": lambda lib, i: lib.rand(()),
    "rand 64": lambda lib, i: lib.rand(8, 8),
    "rand 65": lambda lib, i: lib.rand(65),
    "rand float64": lambda lib, i: lib.rand(3, dtype=lib.float64),
    "randn of 16": lambda lib, i: lib.randn(4, 4),
    "randn of 32": lambda lib, i: lib.randn(2, 16),
    "randn of 1024": lambda lib, i: lib.randn(1024),
    "randn of 18": lambda lib, i: lib.randn(18),
    "randn even": lambda lib, i: lib.randn(4),
    "randn odd": lambda lib, i: lib.randn(3),
    "randn of none": lambda lib, i: lib.randn(0),
    "randn float64": lambda lib, i: lib.randn(5, dtype=lib.float64),
    "randn_like": lambda lib, i: lib.randn_like(lib.zeros(2, 3)),
    "randint": lambda lib, i: lib.randint(0, 9, (4,)),
    "randint low": lambda lib, i: lib.randint(-3, 1000, (3, 2)),
    "randint many": lambda lib, i: lib.randint(i + 1, (3,)),
    "bernoulli": lambda lib, i: lib.bernoulli(lib.tensor(P)),
    "bernoulli float64": lambda lib, i: lib.bernoulli(lib.tensor(P, dtype=lib.float64)),
    "bernoulli transposed": lambda lib, i: lib.bernoulli(lib.tensor(P).t()),
    "multinomial": lambda lib, i: lib.multinomial(lib.tensor(P), 1),
    "multinomial of two": lambda lib, i: lib.multinomial(lib.tensor(P), 2),
    "normal": lambda lib, i: lib.normal(1.0, 2.0, (3,)),
    "exponential_": lambda lib, i: lib.zeros(3).exponential_(),
    "uniform_": lambda lib, i: lib.zeros(5).uniform_(-1, 2),
    "uniform_ of halves": lambda lib, i: lib.zeros(5, dtype=lib.bfloat16).uniform_(0, 3).float(),
    "uniform_ float64": lambda lib, i: lib.zeros(3, dtype=lib.float64).uniform_(-1, 2),
    "uniform_ of whole numbers": lambda lib, i: lib.zeros(3).uniform_(0, 9),
    "random_": lambda lib, i: lib.zeros(4).random_(9),
    "poisson": lambda lib, i: lib.poisson(lib.tensor([0.5, 3.0, 20.0, 0.0])),
    "poisson of 40": lambda lib, i: lib.poisson(lib.full((40,), 2.5)),
    "poisson of 500": lambda lib, i: lib.poisson(lib.full((500,), 0.5)),
    "randperm": lambda lib, i: lib.randperm(i % 70),
    "randperm of halves": lambda lib, i: lib.randperm(9, dtype=lib.bfloat16).float(),
    "dropout": lambda lib, i: lib.nn.functional.dropout(lib.ones(5), 0.5),
    "large": lambda lib, i: lib.rand(3000),
}


def check(mine, other, name):
    assert mine.shape == other.shape and mine.stride() == other.stride(), name
    np.testing.assert_array_equal(mine.numpy(), other.numpy(), err_msg=name)


def check_states():
    np.testing.assert_array_equal(ours.get_rng_state().numpy(), theirs.get_rng_state().numpy())


def seed(n):
    ours.manual_seed(n), theirs.manual_seed(n)


@pytest.mark.parametrize("name", DRAWS)
def test_one_kind_again_and_again(name):
    seed(1)
    for i in range(400 if name not in ("large", "randn of 1024") else 40):
        check(DRAWS[name](ours, i), DRAWS[name](theirs, i), name)
        if i % 97 == 50:
            check_states()
    check_states()


@pytest.mark.parametrize("start", range(4))
def test_kinds_by_chance(start):
    seed(start)
    chance, names, states = np.random.default_rng(start), list(DRAWS), []
    for i in range(1500):
        name = names[int(chance.choice(len(names)))] if i % 200 > 60 else names[start]
        check(DRAWS[name](ours, i), DRAWS[name](theirs, i), f"{i}: {name}")
        if chance.random() < 0.02:
            states.append((ours.get_rng_state(), theirs.get_rng_state()))
            np.testing.assert_array_equal(states[-1][0].numpy(), states[-1][1].numpy())
        if states and chance.random() < 0.01:
            mine, other = states[int(chance.choice(len(states)))]
            ours.set_rng_state(mine), theirs.set_rng_state(other)
    check_states()


def test_a_copy_goes_on_where_the_generator_is():
    mine, other = ours.Generator().manual_seed(3), theirs.Generator().manual_seed(3)
    for _ in range(30):
        check(ours.rand(3, generator=mine), theirs.rand(3, generator=other), "rand")
    copied, state = copy.deepcopy(mine.bits), mine.get_state()
    for _ in range(300):
        expected = theirs.rand(3, generator=other).numpy()
        assert copied.uniform_float32(3).tobytes() == expected.tobytes()
        check(ours.rand(3, generator=mine), ours.from_numpy(expected), "rand")
    again = ours.Generator().set_state(state)
    np.testing.assert_array_equal(again.get_state().numpy(), state.numpy())


def test_threads_draw_different_numbers():
    """All of what a generator draws comes once, whoever draws it."""
    ours.manual_seed(5)
    drawn = [[] for _ in range(4)]

    def draw(into):
        for _ in range(3000):
            into.append(ours.rand(4).numpy())

    threads = [threading.Thread(target=draw, args=(into,)) for into in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    theirs.manual_seed(5)
    expected = np.sort(theirs.rand(4 * 3000 * 4).numpy())
    np.testing.assert_array_equal(np.sort(np.concatenate([x for into in drawn for x in into])), expected)
    check_states()


@pytest.mark.parametrize("bad", [[0.5, 1.5], [-0.1, 0.5], [float("nan"), 0.5]])
def test_refused_probabilities_draw_nothing(bad):
    seed(7)
    for _ in range(20):
        check(ours.bernoulli(ours.tensor(P)), theirs.bernoulli(theirs.tensor(P)), "bernoulli")
    with pytest.raises(RuntimeError, match="p_in"):
        ours.bernoulli(ours.tensor(bad))
    with pytest.raises(RuntimeError):
        ours.multinomial(ours.tensor([0.0, 0.0]), 1)
    check_states()
