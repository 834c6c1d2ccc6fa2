"""Python's garbage collector: it waits while packages are loaded, and does not look at what they have defined."""

from __future__ import annotations

import gc

FEW = 25_000  # objects that the collector knows: a bare interpreter has 9,000, one with NumPy 19,000


class Waiting:
    """While it lives, the collector waits: what modules define stays, and looking at it again and again took a fifth of
    the time of an import (0.1 of 0.5 s). An import that fails drops it with its module.

    Where there are few objects before, none of which is garbage, all that there are afterwards are set aside for good:
    else the first three collections of all objects would take 0.1 s each (of 2.0 s of a short training 0.35). Where
    there are more, a user's cycles may be among them, which then would never be freed; they stay as they are.
    """

    def __init__(self) -> None:
        self._was_on = gc.isenabled()
        self._few = self._was_on and len(gc.get_objects()) <= FEW
        if self._few:
            gc.collect()  # 2 ms
        gc.disable()

    def __del__(self) -> None:
        if self._was_on:
            if self._few:
                gc.freeze()
            elif not gc.get_freeze_count():  # what is young becomes old without being looked at
                gc.freeze()
                gc.unfreeze()
            gc.enable()
