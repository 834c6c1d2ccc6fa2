"""torch.utils.data.datapipes._hook_iterator: what pipes know of snapshots."""

from enum import Enum


class _SnapshotState(Enum):
    """Whether an iteration has begun, or goes on from a snapshot at the next `iter()`."""

    NotStarted = 0
    Restored = 1
    Iterating = 2
