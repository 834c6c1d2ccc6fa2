"""torch.distributed.elastic: processes, their failures and restarts; events and metrics beside PyTorch's."""

import os
import time
from pathlib import Path

import pytest
from functorch_core.torch.distributed.elastic import events, metrics, multiprocessing
from functorch_core.torch.distributed.elastic.agent.server import WorkerSpec, WorkerState
from functorch_core.torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from functorch_core.torch.distributed.elastic.multiprocessing import (
    DefaultLogsSpecs,
    SignalException,
    Std,
    start_processes,
    to_map,
)
from functorch_core.torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, record
from functorch_core.torch.distributed.elastic.rendezvous import RendezvousParameters
from functorch_core.torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
from functorch_core.torch.distributed.launcher import LaunchConfig, elastic_launch

ENVS = {0: {"WHO": "first"}, 1: {"WHO": "second"}}


def told(folder, number):
    print("output of", os.environ["WHO"])
    return number * 2, os.environ["WHO"]


def fails_at_first(folder):
    """Fails in the process of rank 1 of the first attempt; the other one waits."""
    rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
    (folder / f"{attempt}-{rank}").write_text(str(os.getpid()))
    if attempt == "0":
        if rank == "1":
            raise ValueError("on purpose")
        time.sleep(300)
    return rank, os.environ["WORLD_SIZE"]


def spec(entrypoint, *args, restarts=1):
    there = RendezvousParameters("static", "127.0.0.1:0", "job", 1, 1, rank=0)
    return WorkerSpec("trainer", 2, get_rendezvous_handler(there), None, entrypoint, args, restarts, 0.02)


def test_functions_give_results_and_their_output_goes_to_files(tmp_path, capfd):
    logs = DefaultLogsSpecs(str(tmp_path), redirects=Std.OUT, tee={1: Std.OUT})
    started = start_processes("p", told, {0: (tmp_path, 1), 1: (tmp_path, 2)}, ENVS, logs, start_method="fork")
    found = started.wait(60)
    assert found.return_values == {0: (2, "first"), 1: (4, "second")} and not found.failures
    assert Path(found.stdouts[0]).read_text() == "output of first\n"
    assert capfd.readouterr().out == "[p1]:output of second\n"


def test_a_failure_ends_the_others_and_says_what_was_raised(tmp_path):
    started = start_processes(
        "p", "sh", {0: ("-c", "sleep 300"), 1: ("-c", "kill -9 $$")}, ENVS, DefaultLogsSpecs(str(tmp_path))
    )
    found = started.wait(60)
    assert found.failures[1].signal_name() == "SIGKILL" and found.is_failed()
    assert all(not os.path.exists(f"/proc/{pid}") for pid in started.pids().values())
    with pytest.raises(ChildFailedError, match="(?s)divmod FAILED.*ZeroDivisionError") as caught:
        elastic_launch(LaunchConfig(1, 1, 2, start_method="fork", max_restarts=0), divmod)(1, 0)
    rank, failure = caught.value.get_first_failure()
    assert failure.exitcode == 1 and "ZeroDivisionError" in failure.message["message"] and rank in (0, 1)


def test_an_agent_starts_all_again(tmp_path):
    agent = LocalElasticAgent(spec(fails_at_first, tmp_path), DefaultLogsSpecs(str(tmp_path / "logs")), "fork")
    found = agent.run()
    assert found.state is WorkerState.SUCCEEDED and found.return_values == {0: ("0", "2"), 1: ("1", "2")}
    assert {p.name for p in tmp_path.glob("?-?")} <= {"0-0", "0-1", "1-0", "1-1"}
    pids = [int(p.read_text()) for p in tmp_path.glob("?-?")]
    assert len(pids) >= 3 and not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    agent = LocalElasticAgent(spec(fails_at_first, tmp_path, restarts=0), DefaultLogsSpecs(str(tmp_path)), "fork")
    found = agent.run()
    assert found.is_failed() and "on purpose" in found.failures[1].message["message"]


def test_record_writes_what_was_raised(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @record
    def main():
        raise KeyError("there")

    with pytest.raises(KeyError):
        main()
    failure = ProcessFailure(0, 1, 1, str(tmp_path / "error.json"))
    assert failure.message["message"] == "KeyError: 'there'"
    assert "in main" in failure.message["extraInfo"]["py_callstack"]
    real = pytest.importorskip("torch.distributed.elastic.multiprocessing.errors")
    theirs = real.ProcessFailure(0, 1, 1, str(tmp_path / "error.json"))  # PyTorch reads it
    assert theirs.message == failure.message and theirs.timestamp == failure.timestamp
    ended = [m.ProcessFailure(0, 7, -9, "nowhere") for m in (real, multiprocessing.errors)]
    assert ended[0].message == ended[1].message and ended[0].signal_name() == ended[1].signal_name()


def test_events_metrics_and_settings_are_pytorchs(capsys):
    real_events = pytest.importorskip("torch.distributed.elastic.events")
    made = [m.Event("e", m.EventSource.AGENT, 3, {"rank": 1, "x": None}) for m in (events, real_events)]
    assert made[0].serialize() == made[1].serialize()
    assert events.Event.deserialize(made[1].serialize()) == made[0]
    metrics.configure(metrics.ConsoleMetricHandler(), "tests")
    metrics.put_metric("steps", 2, "tests")

    @metrics.prof(group="tests")
    def f():
        raise ValueError

    with pytest.raises(ValueError):
        f()
    lines = [line.partition("]")[2] for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "[tests]: steps=2" and lines[1].endswith("f.failure=1") and ".f.duration.ms=" in lines[2]
    assert Std.from_str("0:1,1:3") == {0: Std.OUT, 1: Std.ALL} and to_map({1: Std.ERR}, 2)[0] is Std.NONE
    assert SignalException("x", 2).sigval == 2
    parameters = RendezvousParameters("c10d", "h:1", "j", 1, 2, a="yes", b="7")
    assert parameters.get_as_bool("a") is True and parameters.get_as_int("b") == 7
    with pytest.raises(ValueError, match="not registered; there are c10d, static"):
        get_rendezvous_handler(RendezvousParameters("etcd", "h:1", "j", 1, 2))
