"""Python's garbage collector, waiting while packages are loaded."""

from __future__ import annotations

import gc


class Waiting:
    """While it lives, the collector waits: what modules define stays, and looking at it again and again took a fifth of
    the time of an import (0.1 of 0.5 s). An import that fails drops it with its module."""

    def __init__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __del__(self) -> None:
        if self._was_on:
            if not gc.get_freeze_count():  # what is young becomes old without being looked at
                gc.freeze()
                gc.unfreeze()
            gc.enable()
