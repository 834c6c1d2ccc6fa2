"""The processes that save or load together, and how they tell each other what they have found."""

from __future__ import annotations

import itertools
import pickle
import traceback
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .. import collectives
from ..group import default, is_initialized, runtime
from .api import CheckpointException


def _frames(error: BaseException) -> traceback.StackSummary:
    """Where an error was raised: without the code, which from Python 3.13 on is there and cannot be pickled."""
    frames = traceback.extract_tb(error.__traceback__)
    return traceback.StackSummary.from_list([(f.filename, f.lineno, f.name, f.line) for f in frames])


class Together:
    """The processes of a group; one alone without a group, or with no_dist."""

    def __init__(self, group, no_dist: bool):
        self.group = None if no_dist or not is_initialized() else group or default()
        self.rank = 0 if self.group is None else self.group.rank()
        self.is_coordinator = self.rank == 0

    def all(self, what: str, function: Callable[[], Any]) -> list[Any]:
        """What function() gives in each process; CheckpointException in all if it fails in one."""
        try:
            mine = function(), None
        except Exception as error:
            mine = None, (error, _frames(error))
        every = self._every(mine) if self.group is not None and self.group.size() > 1 else [mine]
        failures = {rank: error for rank, (_, error) in enumerate(every) if error is not None}
        if failures:
            raise CheckpointException(f"{what} failed:", failures) from next(iter(failures.values()))[0]
        return [found for found, _ in every]

    def first(self, what: str, function: Callable[[], Any]) -> Any:
        """What function() gives in the first process, which alone calls it."""
        return self.all(what, lambda: function() if self.is_coordinator else None)[0]

    def _every(self, mine: Any) -> list[Any]:
        every: list[Any] = [None] * self.group.size()
        collectives.all_gather_object(every, mine, self.group)
        return every


_saves: dict[str, Any] = defaultdict(itertools.count)  # of async_save, by group: all call it alike
PIECE = 1 << 20  # bytes in a message of the key-value store, which takes 4 MB


class Beside(Together):
    """The processes of a group, who tell each other by the key-value store, beside collectives."""

    def __init__(self, group, no_dist: bool):
        super().__init__(group, no_dist)
        key = "" if self.group is None else self.group.key
        self.name, self.turns = f"async_save/{key}/{next(_saves[key])}", itertools.count()

    def _every(self, mine: Any) -> list[Any]:
        board, group = runtime(), self.group
        own, turn = group.ranks[group.rank()], f"{self.name}/{next(self.turns)}"
        data = pickle.dumps(mine)
        pieces = [data[k : k + PIECE] for k in range(0, len(data), PIECE)]
        written = [(f"{turn}/{own}/{k}", piece) for k, piece in enumerate(pieces)]
        for key, piece in [*written, (f"{turn}/{own}", str(len(pieces)).encode())]:
            board.set(key, piece)

        def of(rank: int) -> Any:
            n = int(board.get(f"{turn}/{rank}", group.timeout))
            return pickle.loads(b"".join([board.get(f"{turn}/{rank}/{k}") for k in range(n)]))

        every = [mine if rank == own else of(rank) for rank in group.ranks]
        board.barrier(turn, group.ranks, group.timeout)
        for key, _ in [*written, (f"{turn}/{own}", b"")]:
            board.delete(key)
        return every
