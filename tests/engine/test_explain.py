"""engine.explain() says what the counters, NumPy and the program's own lines say."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys
import types
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine
from functorch_core.engine import history, programs, progress, watch
from functorch_core.engine.history import Compilation
from functorch_core.engine.modes import settings
from functorch_core.engine.recorder import hooks


def line() -> int:
    return inspect.currentframe().f_back.f_lineno


@pytest.fixture
def fused():
    """Each recording is compiled when it is first seen."""
    with engine.forced_tier("fused"):
        yield


def test_it_counts_what_the_counters_count():
    engine.flush()
    before = engine.stats()["flushes"]
    with engine.explain() as why:
        for n in (3, 3, 5):
            assert float(fc.sum(fc.arange(float(n)) * 2.5)) == np.arange(n).sum() * 2.5
    assert sum(sum(row.runs.values()) for row in why.rows) == engine.stats()["flushes"] - before == 3
    assert sorted(sum(row.runs.values()) for row in why.rows) == [1, 2]
    assert 0 < sum(why.totals.values()) <= why.watch.seconds
    assert why.totals["NumPy"] > 0 == why.totals["program"]


def test_compilations_side_by_side_are_counted_once():
    events = [Compilation("", 1, "", "", began, 2.0, False, 0) for began in (1.0, 2.0, 6.0, 6.5)]
    assert watch._covered(events, 1.5, 7.0) == 1.5 + 1.0 + 1.0


def test_nothing_is_left_on():
    compute, direct = hooks.compute, settings.direct
    with pytest.raises(KeyError), engine.explain():
        assert hooks.compute is not compute and not settings.direct
        raise KeyError
    assert hooks.compute == compute and settings.direct is direct and settings.watch is None


@pytest.mark.usefixtures("fused")
def test_a_change_of_shape_is_named_with_its_line():
    with engine.explain() as why:
        for n in (11, 13):
            where, y = line(), fc.cumulative_sum(fc.sinh(fc.asarray(np.ones(n, np.float32))))
            np.testing.assert_allclose(fc.sum(y), np.cumsum(np.sinh(np.ones(n))).sum(), rtol=1e-5)
    said = [c.why for c in why.compilations if "sinh(float32[13])" in c.why]
    assert (
        len(said) == 1 and "it was sinh(float32[11])" in said[0] and f"test_explain.py:{where} in test_a_ch" in said[0]
    )


@pytest.mark.usefixtures("fused")
def test_a_change_of_operation_or_axis_is_named():
    x = fc.asarray(np.arange(35, dtype=np.float32).reshape(5, 7))
    with engine.explain() as why:
        for step in range(2):
            y = fc.tan(x) * 3.25
            y = fc.atan(y) if step else fc.asinh(y)
            fc.sum(fc.exp(-y)).block_until_ready()
        for axis in range(2):
            fc.max(fc.acosh(x), axis=axis).block_until_ready()
    told = " | ".join(c.why for c in why.compilations)
    assert "it has atan, where the recording before had asinh" in told
    assert "with (0,) for reduce_max's axes, which is (1,) now" in told


@pytest.mark.usefixtures("fused")
def test_what_is_remembered_of_a_place_alone_is_a_cause_too(monkeypatch):
    """A line in turn with others, as one after 1,024 further recordings: its names are forgotten, its place is not."""
    monkeypatch.setattr(history, "sequences", history.Sequences())
    monkeypatch.setattr(programs, "sequences", history.sequences)
    monkeypatch.setattr(history, "MAX_SEQUENCES", 2)
    for n in (3, 5):
        x = fc.asarray(np.zeros(n, np.float32))
        assert fc.sinh(x).tolist() == [0] * n
        for function in (fc.cosh, fc.exp):
            assert function(x).tolist() == [1] * n
    assert "it was sinh(float32[3])" in history.compilations[-3].why


@pytest.mark.usefixtures("fused")
def test_a_jitted_function_says_which_argument_changed():
    f = fc.jit(lambda x, y: x * y)
    with engine.explain() as why:
        for n in (2, 2, 4):
            np.testing.assert_array_equal(f(fc.ones(n), fc.asarray(3.0)), np.full(n, 3.0))
    told = [c.why for c in why.compilations if c.name == "<lambda>"]
    assert told[1:] == ["argument 0 of jit(<lambda>) is float32[4]; it was float32[2] when it was last traced"]
    assert sum(row.runs["program"] for row in why.rows if row.place == "jit(<lambda>)") == 3


@pytest.mark.usefixtures("fused")
def test_watching_gives_the_same_programs():
    """Results nobody needs are not kept, and inputs nobody needs are given away as before."""

    def steps():
        before = engine.stats()
        x = fc.asarray(np.ones(40_000, np.float32))
        for _ in range(3):
            x = fc.sqrt(x + 1.75)
            engine.flush()
        return np.asarray(x), engine.stats()["donated"] - before["donated"]

    plain, donated = steps()
    with engine.explain():
        watched, while_watched = steps()
    np.testing.assert_array_equal(watched, plain)
    assert while_watched == donated > 0


def test_ever_other_sizes_are_worth_a_word():
    with engine.explain() as why:
        for n in range(40, 46):
            fc.sum(fc.log1p(fc.ones(n))).block_until_ready()
    assert any("6 kinds of recordings began at" in text and "float32[45]" in text for text in why.advice)


def test_it_is_shown_as_text_and_picture():
    with engine.explain() as why:
        fc.sum(fc.ones(3) * 4.5).block_until_ready()
    assert "where time went" in str(why) and "computed because" in repr(why)
    picture = why._repr_html_()
    (svg,) = xml.fromstring(picture).findall("svg")
    titles = [title.text for title in svg.iter("title")]
    assert any(title.startswith("run 0: NumPy") for title in titles)
    assert f"the last {why.watch.runs} run" in "".join(svg.itertext())  # no more bars than runs in the text
    assert "times are taken inside of" in str(engine.explain()) and "<svg" not in engine.explain()._repr_html_()


def test_a_script_is_explained_at_its_end():
    script = "import torch; x = torch.ones(3) + 1; print(x.sum().item()); raise SystemExit(3)"
    done = subprocess.run(
        [sys.executable, "-m", "functorch_core", "--explain", "-c", script], capture_output=True, text=True
    )
    assert done.stdout == "6.0\n" and done.returncode == 3
    assert "where time went" in done.stderr and "a value was read at <string>:1" in done.stderr


class Shell:
    kernel = object()


@pytest.mark.parametrize("kernel", [True, False])
def test_long_compilations_are_told_of_in_notebooks(monkeypatch, kernel):
    shell = Shell() if kernel else None
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress, "AFTER", 0.0)
    with progress.compiling("step", 12):
        while kernel and "12 operations" not in sys.stderr.getvalue():
            pass
    assert sys.stderr.getvalue().startswith("compiling step (12 operations) ...") == kernel
