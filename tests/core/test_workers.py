"""Threads that help: everything once, errors where they are called for, no thread that a fork has lost."""

from __future__ import annotations

import os
import threading

import pytest

from functorch_core.core import workers

from ..xla.programs import run_python


@pytest.mark.parametrize("n", [0, 1, 2, 7, 300])
def test_everything_is_computed_once(n):
    seen = []
    workers.compute(seen.append, n)
    assert sorted(seen) == list(range(n))


@pytest.mark.skipif(workers.threads_wanted() < 2, reason="one core")
def test_others_help():
    """Two pieces that wait for each other end only if two threads compute them."""
    barrier = threading.Barrier(2, timeout=30)
    workers.compute(lambda i: barrier.wait(), 2)


def test_errors_are_raised_by_the_caller():
    def fail(i):
        if i == 3:
            raise ValueError("piece 3")

    for _ in range(20):
        with pytest.raises(ValueError, match="piece 3"):
            workers.compute(fail, 8)
    seen = []
    workers.compute(seen.append, 4)
    assert len(seen) == 4


def test_several_callers():
    counts = [0] * 4

    def call(k):
        for _ in range(50):
            done = []
            workers.compute(done.append, 5)
            counts[k] += len(done)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [250] * 4


def test_a_piece_may_have_pieces():
    seen = []
    workers.compute(lambda i: workers.compute(lambda j: seen.append((i, j)), 3), 3)
    assert sorted(seen) == [(i, j) for i in range(3) for j in range(3)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_in_a_forked_child():
    out = run_python(
        """
import os
from functorch_core.core import workers
workers.compute(lambda i: None, 4)
child = os.fork()
if not child:
    seen = []
    workers.compute(seen.append, 4)
    os._exit(len(seen))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    assert out.split() == ["4"]


def test_an_interrupt_ends_the_wait():
    """Ctrl-C while others still compute: the next call works."""
    out = run_python(
        """
import signal, threading, time
from functorch_core.core import workers
def piece(i):
    if threading.current_thread() is not threading.main_thread():
        time.sleep(1.0)
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    workers.compute(piece, 2)
    workers.compute(lambda i: time.sleep(0.5), 2)
except KeyboardInterrupt:
    print("interrupted")
seen = []
workers.compute(seen.append, 5)
print(len(seen))
"""
    )
    assert out.split() == ["interrupted", "5"]
