"""The static estimates that decide between tiers: what they count, and what they decide."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, torch
from functorch_core import primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.trace import trace_closed
from functorch_core.engine import cost
from functorch_core.engine.programs import MAX_SOON, SPENT, price_of, threshold_of
from functorch_core.engine.units import Unit

F32, I64 = np.dtype("float32"), np.dtype("int64")


def estimate(fun, *avals) -> cost.Cost:
    return cost.of_graph(trace_closed(lambda *xs: [fun(*xs)], [aval(s, d) for s, d in avals]))


def rows(n):
    return estimate(lambda t, i: p.take(t, i, axis=0), ((n, 64), F32), ((32,), I64))


def test_a_gather_costs_what_it_reads_not_its_table():
    assert rows(1_000_000).reference == rows(100).reference
    assert rows(1_000_000).fused == rows(100).fused


def test_rows_at_indices_stay_with_numpy():
    """XLA copies them element by element; single elements it reads quicker."""
    table = (30_000, 512), F32
    whole = estimate(lambda t, i: p.take(t, i, axis=0), table, ((4096,), I64))
    single = estimate(lambda t, i: p.take_along_axis(t, i, axis=1), table, ((30_000, 20), I64))
    assert whole.fused > whole.reference > 100
    assert single.fused < single.reference / 2


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: p.slice(x, start=(5,), limit=(8,)),
        lambda x: p.dynamic_slice(x, p.constant(np.int64(4)), sizes=(3,)),
        lambda x: p.reshape(x, shape=(1000, 1000)),
    ],
)
def test_views_cost_nothing_by_their_size(fun):
    assert estimate(fun, ((1_000_000,), F32)).reference < 10


def test_a_part_of_a_large_array_is_computed_by_numpy():
    big = fc.asarray(np.zeros((1 << 22,), np.float32))
    before = engine.stats()["compiles"]
    for i in range(20):
        np.asarray(big[i : i + 3] + 1)
    assert engine.stats()["compiles"] == before


def test_elements_that_are_repeated_one_by_one_are_copied():
    """As upsampling by nearest neighbours does; repeated rows are copied as rows."""

    def repeated(dims, shape):
        return estimate(
            lambda x: p.reshape(p.broadcast_in_dim(x, shape=shape, dims=dims), shape=(1 << 17,)), ((64, 64), F32)
        )

    each, in_rows = ((0, 1), (64, 64, 32)), ((1, 2), (32, 64, 64))
    assert repeated(*each).reference > 10 * repeated(*in_rows).reference


def test_sums_of_few_numbers_cost_more():
    def summed(*shape):
        return estimate(lambda x: p.reduce_sum(x, axes=(1,)), (shape, F32)).reference

    assert summed(1 << 19, 2) > 3 * summed(2, 1 << 19)


def test_a_convolution_takes_long_to_compile(monkeypatch):
    """XLA's own; a call of oneDNN does not."""
    monkeypatch.setenv("FUNCTORCH_ONEDNN", "0")
    conv = estimate(
        lambda x, k: p.conv(x, k, strides=(1, 1), padding=((0, 0), (0, 0))), ((8, 3, 32, 32), F32), ((16, 3, 3, 3), F32)
    )
    add = estimate(p.add, ((8, 3), F32), ((8, 3), F32))
    assert conv.compile > 50 * add.compile


def pooled(size: int, *shape: int) -> cost.Cost:
    window = {"window": (1, 1, size, size), "strides": (1, 1, 2, 2)}
    return estimate(lambda x: p.reduce_window_max(x, **window), (shape, F32))


def test_a_window_costs_by_its_elements():
    small, large = pooled(2, 4, 8, 128, 128), pooled(6, 4, 8, 128, 128)
    assert 7 < large.reference / small.reference < 9  # 36 elements for 4, at 62 x 62 places for 64 x 64
    assert 50_000 < pooled(3, 32, 64, 57, 57).reference < 300_000  # 91 ms on an idle machine, 215 on a busy one
    assert not pooled(3, 32, 64, 57, 57).suits_numpy


def convolved(*shape: int) -> cost.Cost:
    same = {"strides": (1, 1), "padding": ((1, 1), (1, 1))}
    return estimate(lambda x, k: p.conv(x, k, **same), (shape, F32), ((64, shape[1], 3, 3), F32))


@pytest.mark.skipif(not fc.xla.onednn.is_available(), reason="needs oneDNN")
def test_a_convolution_is_no_program_of_its_own(monkeypatch):
    """The first step of a ResNet-18 took 5.6 s, 3.2 like this: programs would call what NumPy's tier calls."""
    large = convolved(32, 64, 32, 32)
    assert large.reference > cost.REFERENCE_LIMIT
    assert large.suits_numpy
    monkeypatch.setenv("FUNCTORCH_ONEDNN", "0")
    assert not convolved(32, 64, 32, 32).suits_numpy


def test_windows_take_longer_to_compile_than_reductions():
    reduction = estimate(lambda x: p.reduce_sum(x, axes=(2, 3)), ((4, 8, 128, 128), F32))
    assert pooled(3, 4, 8, 128, 128).compile > reduction.compile


def unit_of(n: int, size: int) -> Unit:
    def chain(x):
        for _ in range(n):
            x = p.tanh(x)
        return [x]

    return Unit(trace_closed(chain, [aval((size,), F32)]), "chain", True)


def test_what_is_compiled_and_when():
    assert threshold_of([unit_of(1, 10)]) == (math.inf, math.inf)  # print(tanh(x)) never pays
    assert threshold_of([unit_of(20, 9_001)] * 5) == (MAX_SOON - 1, MAX_SOON)
    assert threshold_of([unit_of(20, 100_000)] * 50) == (2, 3)
    assert threshold_of([unit_of(20, 1_000_000)] * 50) == (1, 2)  # the first run loses a third of its price
    assert threshold_of([unit_of(20, 10_000_000)]) == (1, 1)  # a program of its own costs as much


def test_what_is_dear_to_compile_waits_until_a_part_of_that_was_spent():
    units = [unit_of(20, 1_000)] * 20
    spent = sum([u.cost.reference for u in units]) * threshold_of(units)[1]
    assert threshold_of(units)[1] > MAX_SOON and spent == pytest.approx(SPENT * price_of(units))


def test_what_is_hardly_quicker_is_compiled_late_and_beside_the_program():
    units = [unit_of(1, 10) for _ in range(100)]
    start, needed = threshold_of(units, buffers=20)
    assert 100 < start < needed < math.inf
    assert threshold_of(units, buffers=200) == (math.inf, math.inf)  # handing them over costs what is gained


def test_what_is_waited_for_is_compiled_sooner():
    """The thread that reads runs it: no other is handed it. Of long programs that is no part of their time."""
    size = 4 * 250_000
    before, read = (threshold_of([unit_of(1, 250_000)], 2, size=size, read=read)[1] for read in (False, True))
    assert read == MAX_SOON < before < math.inf
    assert threshold_of([unit_of(1, 10)], read=True) == (math.inf, math.inf)
    long = [unit_of(100, 1_000_000)]
    assert threshold_of(long, size=4 * size, read=True) == threshold_of(long, size=4 * size)


def test_borders_are_left_to_numpy():
    """A program asks of each element of an array whether it is one of the border."""
    padded = estimate(lambda x: p.pad(x, np.float32(0), low=(0, 2, 2), high=(0, 2, 2)), ((256, 64, 64), F32))
    assert padded.fused > padded.reference


def test_an_op_again_costs_less_to_compile_than_another():
    assert price_of([unit_of(5, 10)] * 9) < 0.65 * price_of([unit_of(5, 10) for _ in range(9)])


def test_what_takes_much_longer_to_compile_than_by_numpy_waits():
    """20 ms by NumPy are too much for an op that is sooner compiled, not where that takes a minute."""
    few, many = unit_of(10, 10_000_000).cost, unit_of(20_000, 10).cost
    assert few.reference > cost.REFERENCE_LIMIT and not few.suits_numpy
    assert many.reference > cost.REFERENCE_LIMIT and many.suits_numpy
    assert threshold_of([unit_of(20_000, 10)])[0] > 1


def test_one_of_many_lengths_is_compiled_when_all_of_its_price_is_lost():
    """What the others of its family say is that it comes twice."""
    units = [unit_of(20, 100_000)] * 50
    lost = sum([u.cost.reference - u.cost.fused for u in units])
    assert threshold_of(units, expected=1000.0) == threshold_of(units)
    assert price_of(units) / lost < threshold_of(units, expected=2.0)[1] < 1.1 * price_of(units) / lost


def test_what_a_round_of_a_scan_costs_numpy():
    """The body, and a call; not so much for each element that is scanned over."""

    def rounds(width):
        xs = fc.ones((50, width))
        graph = fc.make_jaxpr(lambda c, xs: fc.lax.scan(lambda c, x: (c + x, None), c, xs)[0])(xs[0], xs)
        return cost.of_graph(graph).reference

    assert 50 < rounds(1_000) < 250


def test_a_compiled_program_is_reached_within_ten_sightings():
    x = fc.asarray(np.linspace(0, 1, 20_000, dtype=np.float32))

    def step(i):
        y = x * (i + 0.5)
        for _ in range(20):
            y = fc.tanh(y) * 1.5
        return np.asarray(y)

    for i in range(10):
        step(i)
    before = engine.stats()["fused_runs"]
    start = time.perf_counter()
    step(11)
    assert engine.stats()["fused_runs"] == before + 1 and time.perf_counter() - start < 5


def test_a_checkpointed_function_costs_what_its_graph_costs():
    plain, kept = (fc.make_jaxpr(f)(np.ones(100_000, np.float32)) for f in (fc.sin, fc.checkpoint(fc.sin)))
    assert cost.of_graph(kept).reference < 1.1 * cost.of_graph(plain).reference


def written(n: int, times: int):
    """A large tensor into which numbers are written one by one."""
    x = torch.zeros(n, n) + 1
    for i in range(times):
        x[i % n, (7 * i) % n] = float(i)
    return x


@pytest.mark.parametrize(
    "keep", [None, lambda x: x + 0, lambda x: x[2:4] * 2, lambda x: x.T.clone(), lambda x: x.clone()]
)
def test_writes_by_numpy_are_in_place_where_nobody_sees_it(keep):
    import torch as reference

    def told(lib):
        x, kept = lib.zeros(40, 40) + 1, []
        for i in range(30):
            x[i % 40, (7 * i) % 40] = float(i)
            x[3:5] = x[4:6] * 1
            if keep is not None:
                kept.append(keep(x))
        return [y.numpy() for y in (x, *kept)]

    for tier in ("auto", "reference"):
        with engine.forced_tier(tier):
            for mine, other in zip(told(torch), told(reference), strict=True):
                np.testing.assert_array_equal(mine, other)


def test_writes_in_place_are_not_compiled_for_copies_that_nobody_makes():
    with engine.fail_on_recompile():  # the third sighting of the key that recurs
        found = [written(1024, 300).double().sum().item() for _ in range(5)]
    assert found == [1024 * 1024 - 300 + sum(range(300))] * 5


def test_a_matrix_by_a_vector_takes_longer_to_compile_than_one_by_a_matrix():
    """XLA writes out the loops of the first (12 ms), and calls a library for the second (2 ms)."""

    def compilation(*shapes) -> float:
        return estimate(lambda x, y: p.dot_general(x, y, contract=((1,), (0,))), *((s, F32) for s in shapes)).compile

    assert compilation((64, 64), (64,)) == compilation((1, 64), (64, 64)) > 5 * compilation((64, 64), (64, 64))


def of_svd(*shape: int) -> cost.Cost:
    return estimate(lambda x: p.svd(x)[1], (shape, F32))


def test_a_decomposition_costs_by_the_smaller_side_of_its_matrix_and_as_much_in_a_program():
    long, wide = of_svd(7, 343), of_svd(343, 7)
    assert long.reference == wide.reference < 500  # measured: 49 and 25 us
    assert long.fused > 0.8 * long.reference


def test_programs_that_take_over_what_numpy_made_must_save_more():
    units = [unit_of(1, 10) for _ in range(100)]
    needed = [threshold_of(units, buffers=20, passing=n)[1] for n in (0, 10, 30)]
    assert needed == sorted(set(needed))
    assert threshold_of(units, buffers=20, passing=100) == (math.inf, math.inf)


@pytest.mark.parametrize("read", [False, True])
def test_a_program_whose_inputs_come_from_numpy_each_time_is_put_off(read, monkeypatch):
    monkeypatch.setattr(cost, "PASSING", 100.0)
    weights = [fc.asarray(np.linspace(0, i, 4000, dtype=np.float32)) for i in range(60)]

    def turn():
        values = [w * 2.0 for w in weights]
        if read:  # each is computed, and is an input of what follows
            assert [float(v[-1]) for v in values] == [2.0 * i for i in range(60)]
        for _ in range(6):
            values = [fc.tanh(v) for v in values]
        total = sum(values)
        del values
        return float(total[-1])

    before, wanted = engine.stats()["fused_runs"], np.arange(60) * 2.0
    for _ in range(6):
        wanted = np.tanh(wanted)
    assert [turn() for _ in range(40)] == pytest.approx([wanted.sum()] * 40, abs=1e-4)
    assert (engine.stats()["fused_runs"] > before) != read


def test_what_comes_once_an_epoch_is_compiled_later():
    def fused_runs(x):
        before = engine.stats()["fused_runs"]
        for _ in range(20):
            x = fc.tanh(x) * 1.5
        assert math.isfinite(float(x[-1]))
        return engine.stats()["fused_runs"] - before

    batch, last, alone = (fc.asarray(np.linspace(0, 1, n, dtype=np.float32)) for n in (20_011, 9_001, 9_003))
    for _ in range(8):
        found = [fused_runs(batch) for _ in range(40)] + [fused_runs(last)]
    assert found[-2:] == [1, 0]  # the batch is computed by a program
    assert [fused_runs(alone) for _ in range(8)][-1] == 1  # as the last one would be, were it not for the batches


def test_of_what_is_rare_more_must_have_been_lost():
    units = [unit_of(20, 9_001)] * 5
    assert threshold_of(units)[1] == MAX_SOON < threshold_of(units, rare=True)[1]
