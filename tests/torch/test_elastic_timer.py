"""torch.distributed.elastic.timer: a worker that takes too long is ended, one that does not is left alone."""

import multiprocessing
import os
import signal
import time

import pytest
from functorch_core.torch.distributed.elastic import timer

fork = multiprocessing.get_context("fork")


def work(make, *args):
    """One quick part, one that must not be ended for its first part's timer, and one that takes too long."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # agents that ran before in this process left another
    timer.configure(make(*args))
    with timer.expires(after=0.2):
        pass
    time.sleep(0.5)
    with timer.expires(after=0.3, scope="too long"):
        time.sleep(60)


def ended_by(make, *args) -> int:
    process = fork.Process(target=work, args=(make, *args))
    began = time.monotonic()
    process.start()
    process.join(30)
    assert 0.7 < time.monotonic() - began < 20
    return -process.exitcode


def test_a_worker_that_takes_too_long_is_killed():
    requests = fork.Queue()
    server = timer.LocalTimerServer(requests, max_interval=0.05)
    server.start()
    assert ended_by(timer.LocalTimerClient, requests) == signal.SIGKILL
    server.stop()


def test_through_a_named_pipe_the_worker_says_by_what(tmp_path):
    path, seen = str(tmp_path / "timers"), []
    server = timer.FileTimerServer(path, "run", max_interval=0.05, log_event=lambda *event: seen.append(event))
    server.start()
    assert ended_by(timer.FileTimerClient, path, signal.SIGTERM) == signal.SIGTERM
    server.stop()
    ((name, request),) = seen
    assert name == "kill worker process" and request.scope_id == "too long" and not os.path.exists(path)
    with pytest.raises(BrokenPipeError, match="FileTimerServer is not available"):
        timer.FileTimerClient(path).acquire("a step", 1.0)


def test_timers_are_kept_by_worker_and_scope():
    server = timer.LocalTimerServer(fork.Queue())
    ask = timer.TimerRequest
    server.register_timers([ask(1, "a", 5.0), ask(1, "b", 7.0), ask(2, "a", 6.0), ask(1, "a", -1)])
    assert server.get_expired_timers(4.0) == {}
    assert server.get_expired_timers(6.5) == {2: [ask(2, "a", 6.0)]}
    assert server.get_expired_timers(9.0) == {1: [ask(1, "b", 7.0)], 2: [ask(2, "a", 6.0)]}
    server.clear_timers({2})
    assert list(server.get_expired_timers(9.0)) == [1]
    assert server._reap_worker(fork.Process(target=int).pid or 2**22 + 1)  # gone is ended


def test_a_scope_is_the_callers_line_and_a_client_is_needed(monkeypatch):
    told = []

    class Client(timer.TimerClient):
        def acquire(self, scope_id, expiration_time):
            told.append((scope_id, expiration_time > time.time()))

        def release(self, scope_id):
            told.append(scope_id)

    with pytest.raises(ValueError, match="own"), timer.expires(after=5, client=Client()):
        raise ValueError("own")
    (scope, later), released = told
    assert __file__ in scope and "#" in scope and later and released == scope
    monkeypatch.setattr(timer.api, "_configured", [])
    with pytest.raises(RuntimeError, match="Configure timer client before"), timer.expires(after=5):
        pass
