"""A thread for calls of C++ that may never come back, so that who waits for them can give up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any


class Patience:
    """Calls functions one after the other, on one thread, for callers who wait at most so long."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def call(self, function: Callable[[], Any], seconds: float) -> Any:
        """What the function returns or raises; TimeoutError if that takes longer. It goes on nevertheless."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._answer, daemon=True)
            self._thread.start()
        answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._asked.put((function, answers))
        try:
            found, error = answers.get(timeout=seconds)
        except queue.Empty:
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
