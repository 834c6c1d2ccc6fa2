"""A thread for calls of C++ that may never come back, so that who waits for them can give up."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

LOOK = 0.02  # seconds between two looks whether an answer can still come


class Patience:
    """Calls functions one after the other, on one thread, for callers who wait at most so long."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have the thread, which the first call starts otherwise: while Python ends none can be started (3.12)."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._answer, daemon=True)
            self._thread.start()

    def call(self, function: Callable[[], Any], seconds: float, is_hopeless: Callable[[], bool] | None = None) -> Any:
        """What the function returns or raises; TimeoutError if that takes longer, or is hopeless. It goes on
        nevertheless."""
        self.start()
        answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._asked.put((function, answers))
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            try:
                found, error = answers.get(timeout=max(0.0, left if is_hopeless is None else min(left, LOOK)))
                break
            except queue.Empty:
                if left <= LOOK or is_hopeless is None or is_hopeless():
                    raise TimeoutError(f"no answer within {seconds:g} s") from None
        if error is not None:
            raise error
        return found

    def _answer(self) -> None:
        while True:
            function, answers = self._asked.get()
            try:
                answers.put((function(), None))
            except BaseException as error:
                answers.put((None, error))
            del function, answers
