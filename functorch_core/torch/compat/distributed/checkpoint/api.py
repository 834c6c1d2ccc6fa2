"""torch.distributed.checkpoint.api: what saving and loading raise."""

from __future__ import annotations

import traceback

Failure = tuple[BaseException, traceback.StackSummary]


class CheckpointException(RuntimeError):
    """What went wrong in which processes: `failures`, pairs of an exception and where it was raised, by rank.

    >>> from torch.distributed.checkpoint import CheckpointException
    >>> issubclass(CheckpointException, BaseException)
    True
    """

    def __init__(self, msg: str, failures: dict[int, Failure]):
        super().__init__(f"{msg} ranks:{list(failures)} " + "; ".join(f"{r}: {e!r}" for r, (e, _) in failures.items()))
        self._failures = failures

    @property
    def failures(self) -> dict[int, Failure]:
        """What went wrong, by rank."""
        return self._failures
