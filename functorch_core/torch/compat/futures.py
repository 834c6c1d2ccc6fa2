"""torch.futures: results that may come later."""

from __future__ import annotations

import logging as _logging
import threading as _threading
import types as _types
from traceback import extract_tb as _frames

from ...locks import RLock
from ..tensors.types import device as _device

ONCE = "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."


def _running(callback, future):
    """callback(future); RuntimeError naming what it raised."""
    try:
        return callback(future)
    except Exception as error:
        place = "".join(
            f"  {frame.filename}({frame.lineno}): {frame.name}\n" for frame in _frames(error.__traceback__)[1:]
        )
        text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
        raise RuntimeError(text + (f"\n\nAt:\n{place}" if place else "")) from error


class Future:
    """A result that somebody sets once.

    `devices` is looked at only: results on a device are waited for when they are read.

    >>> f = torch.futures.Future()
    >>> f.set_result(3)
    >>> f.wait()
    3
    """

    __class_getitem__ = classmethod(_types.GenericAlias)

    def __init__(self, *, devices=None):
        for device in devices or ():
            if _device(device).index is None:
                raise ValueError(f"Expected devices to have indices, got {_device(device)}")
        self._ready = _threading.Event()
        self._lock = RLock()
        self._callbacks: list = []
        self._value = self._error = None

    def __reduce__(self):
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self) -> bool:
        """Whether the result is there."""
        return self._ready.is_set()

    def wait(self):
        """The result; blocks until it is there, raises if it is an exception."""
        self._ready.wait()
        try:
            return self.value()
        finally:
            del self  # see value

    def value(self):
        """The result, which has to be there."""
        if not self.done():
            raise RuntimeError("Future is not complete: use wait()")
        if self._error is not None:
            try:
                raise self._error
            finally:
                del self  # or the error's traceback, which refers to this frame, were a circle: freed late
        return self._value

    def then(self, callback) -> Future:
        """A future of callback(this future), called when this one is done.

        What the callback raises is raised by the new future's wait(), as a RuntimeError that names it.

        >>> f = torch.futures.Future()
        >>> later = f.then(lambda f: f.value() + 1)
        >>> f.set_result(3)
        >>> later.wait()
        4
        """
        out = Future()

        def run(future):
            try:
                out.set_result(_running(callback, future))
            except Exception as error:
                out.set_exception(error)

        _checked(callback, "then")
        self._when_done(run)
        return out

    def add_done_callback(self, callback) -> None:
        """Call callback(this future) when it is done, at once if it is. What it raises is logged only."""

        def run(future):
            try:
                _running(callback, future)
            except Exception as error:
                _logging.getLogger("torch.futures").error("%s", error)

        _checked(callback, "add_done_callback")
        self._when_done(run)

    def _when_done(self, run) -> None:
        with self._lock:
            if not self.done():
                self._callbacks.append(run)
                return
        run(self)

    def set_result(self, result) -> None:
        """Give the result; RuntimeError the second time."""
        self._finish(result, None)

    def set_exception(self, result) -> None:
        """Give an exception as the result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value, error):
        with self._lock:
            if self.done():
                raise RuntimeError(ONCE)
            self._value, self._error = value, error
            self._ready.set()
        for run in self._callbacks:
            run(self)


def _checked(callback, name: str) -> None:
    """TypeError unless a callback can be called."""
    if not callable(callback):
        raise TypeError(
            f"{name}(): incompatible function arguments: expected a function of the future, got {callback!r}"
        )


def collect_all(futures) -> Future:
    """A future of the list of futures, done when all are; it fails as the first that failed.

    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([a, b])
    >>> a.set_result(1), b.set_result(2)
    (None, None)
    >>> [future.wait() for future in both.wait()]
    [1, 2]
    """
    futures = list(futures)
    if None in futures:
        raise RuntimeError("Future can't be None")
    out, left, lock = Future(), [len(futures)], RLock()

    def count(_):
        with lock:
            left[0] -= 1
            finished = left[0] == 0
        if not finished:
            return
        failed = next((f for f in futures if f._error is not None), None)
        if failed is None:
            out.set_result(futures)
        else:
            out.set_exception(failed._error)

    for future in futures:
        future._when_done(count)
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
