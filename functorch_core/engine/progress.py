"""A line on stderr while a long compilation runs, if a person looks at it: in a terminal, in a notebook."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

AFTER = 1.0  # seconds: shorter compilations say nothing


@contextlib.contextmanager
def compiling(name: str, nodes: int) -> Iterator[None]:
    """Context: after a second, say what is being compiled; when it ends, how long it took."""
    if not _is_looked_at():
        yield
        return
    start, shown = time.perf_counter(), threading.Event()

    def show() -> None:
        shown.set()
        print(f"compiling {name} ({nodes} operations) ...", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(AFTER, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if shown.is_set():
            print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr)


def _is_looked_at() -> bool:
    """Whether stderr is a terminal, or the output below a notebook's cell."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None
