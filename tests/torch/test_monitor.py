"""torch.monitor, held against PyTorch's: events, statistics, handlers."""

from __future__ import annotations

import datetime
from unittest import mock

import pytest

from functorch_core import torch

from .agree import reference

BOTH = [pytest.param(torch, id="ours"), pytest.param(reference, id="pytorch")]
LONG = datetime.timedelta(days=10_000)  # no window ends by time while a test runs


@pytest.fixture
def told():
    """Registers a handler; gives what it was told, as (name, data)."""
    undo = []

    def listen(library):
        found = []
        handle = library.monitor.register_event_handler(lambda event: found.append((event.name, dict(event.data))))
        undo.append((library, handle))
        return found

    yield listen
    for library, handle in undo:
        library.monitor.unregister_event_handler(handle)


@pytest.mark.parametrize("library", BOTH)
def test_a_window_of_samples(library, told):
    monitor, found = library.monitor, told(library)
    kinds = [monitor.Aggregation.SUM, monitor.Aggregation.MEAN, monitor.Aggregation.COUNT]
    kinds += [monitor.Aggregation.MAX, monitor.Aggregation.MIN]
    stat = monitor.Stat("loss", kinds, LONG, 3)
    assert (stat.name, stat.count) == ("loss", 0) and set(stat.get().values()) == {0.0}
    for value in (4, 1.0):
        stat.add(value)
    assert stat.count == 2 and set(stat.get().values()) == {0.0} and found == []
    stat.add(7)
    stat.add(100)  # the window has its samples
    assert stat.count == 0
    assert {k.name: v for k, v in stat.get().items()} == {"SUM": 12, "MEAN": 4, "COUNT": 3, "MAX": 7, "MIN": 1}
    wanted = {"loss.sum": 12.0, "loss.mean": 4.0, "loss.count": 3.0, "loss.max": 7.0, "loss.min": 1.0}
    assert found == [("torch.monitor.Stat", wanted)]


@pytest.mark.parametrize("library", BOTH)
def test_what_is_left_is_told_at_the_end(library, told):
    found = told(library)
    stat = library.monitor.Stat("n", [library.monitor.Aggregation.SUM], LONG)
    stat.add(2)
    assert found == []
    del stat
    assert found == [("torch.monitor.Stat", {"n.sum": 2.0})]


@pytest.mark.parametrize("library", BOTH)
def test_events(library, told):
    monitor, found = library.monitor, told(library)
    when = datetime.datetime(2021, 2, 3, 4, 5, 6)
    event = monitor.Event("epoch", when, {"loss": 0.5, "where": "here", "n": 3, "last": True})
    monitor.log_event(event)
    assert (event.name, event.timestamp) == ("epoch", when)
    assert found == [("epoch", {"loss": 0.5, "where": "here", "n": 3, "last": 1.0})]
    handle = monitor.register_event_handler(lambda event: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        monitor.log_event(event)
    monitor.unregister_event_handler(handle)
    for wrong in (
        lambda: monitor.log_event(3),
        lambda: monitor.register_event_handler(3),
        lambda: monitor.Event("x", when, {"a": [1]}),
        lambda: monitor.Stat("a", []),
    ):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("library", BOTH)
def test_the_handler_for_tensorboard_writes_scalars(library):
    writer = mock.Mock()
    handler = library.monitor.TensorboardEventHandler(writer)
    when = datetime.datetime(2021, 2, 3)
    handler(library.monitor.Event("torch.monitor.Stat", when, {"a.sum": 2.0}))
    handler(library.monitor.Event("other", when, {"b": 2.0}))
    assert writer.add_scalar.call_args_list == [mock.call("a.sum", 2.0, walltime=when.timestamp())]


def test_the_last_value_is_an_aggregate():
    """As the documentation says; PyTorch leaves it out."""
    stat = torch.monitor.Stat("v", [torch.monitor.Aggregation.VALUE], LONG, 2)
    stat.add(1)
    stat.add(5)
    assert stat.get() == {torch.monitor.Aggregation.VALUE: 5.0}
