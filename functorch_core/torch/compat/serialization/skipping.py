"""torch.serialization.skip_data: checkpoints whose numbers are left out, or not read."""

from __future__ import annotations

import numpy as np


class skip_data:
    """Context: torch.save leaves the places of elements empty (zeros), torch.load does not read them.

    >>> import io
    >>> f = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), f)
    >>> _ = f.seek(0)
    >>> torch.load(f)
    tensor([0., 0.])

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...   torch.save(torch.ones(2), file)
    >>> file.tell() > 0
    True
    """

    __module__ = "torch.serialization"
    depth = 0

    def __init__(self, materialize_fake_tensors: bool = False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        skip_data.depth += 1
        return self

    def __exit__(self, *exc):
        skip_data.depth -= 1


def unless_skipped(array: np.ndarray) -> np.ndarray:
    """The bytes of a storage; zeros inside of skip_data."""
    return np.zeros_like(array) if skip_data.depth else array
