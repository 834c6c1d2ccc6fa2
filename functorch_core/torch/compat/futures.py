"""torch.futures: results that may come later."""

from __future__ import annotations

import threading as _threading
import types as _types


class Future:
    """A result that somebody sets once.

    >>> f = torch.futures.Future()
    >>> f.set_result(3)
    >>> f.wait()
    3
    """

    __class_getitem__ = classmethod(_types.GenericAlias)

    def __init__(self, *, devices=None):
        self._ready = _threading.Event()
        self._lock = _threading.Lock()
        self._callbacks: list = []
        self._value = self._error = None

    def done(self) -> bool:
        """Whether the result is there."""
        return self._ready.is_set()

    def wait(self):
        """The result; blocks until it is there, raises if it is an exception."""
        self._ready.wait()
        return self.value()

    def value(self):
        """The result, which has to be there."""
        if not self.done():
            raise RuntimeError("Future is not complete: use wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback) -> Future:
        """A future of callback(this future), called when this one is done."""
        out = Future()

        def run(future):
            try:
                out.set_result(callback(future))
            except Exception as error:
                out.set_exception(error)

        self.add_done_callback(run)
        return out

    def add_done_callback(self, callback):
        """Call callback(this future) when it is done, at once if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result):
        """Give the result; RuntimeError the second time."""
        self._finish(result, None)

    def set_exception(self, result):
        """Give an exception as the result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value, error):
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            self._ready.set()
        for callback in self._callbacks:
            callback(self)


def collect_all(futures) -> Future:
    """A future of the list of futures, done when all are.

    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([a, b])
    >>> a.set_result(1), b.set_result(2)
    (None, None)
    >>> [future.wait() for future in both.wait()]
    [1, 2]
    """
    futures = list(futures)
    out, left, lock = Future(), [len(futures)], _threading.Lock()

    def count(_):
        with lock:
            left[0] -= 1
            finished = left[0] == 0
        if finished:
            out.set_result(futures)

    for future in futures:
        future.add_done_callback(count)
    if not futures:
        out.set_result([])
    return out


def wait_all(futures) -> list:
    """The results of all futures.

    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> a.set_result(1), b.set_result(2)
    (None, None)
    >>> torch.futures.wait_all([a, b])
    [1, 2]
    """
    return [future.wait() for future in collect_all(futures).wait()]
