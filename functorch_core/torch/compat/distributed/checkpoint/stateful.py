"""torch.distributed.checkpoint.stateful: what has a state of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

from ....tensors.base import Tensor


@runtime_checkable
class Stateful(Protocol):
    """What can be a value of a state dict: saved as its state_dict(), and given that back by load_state_dict.

    >>> import tempfile
    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.stateful import Stateful
    >>> class Counter(Stateful):
    ...   def __init__(self):
    ...     self.n = 0
    ...   def state_dict(self):
    ...     return {"n": self.n}
    ...   def load_state_dict(self, state):
    ...     self.n = state["n"]
    >>> counter = Counter()
    >>> counter.n = 3
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   _ = dcp.save({"counter": counter}, checkpoint_id=folder)
    ...   counter.n = 0
    ...   dcp.load({"counter": counter}, checkpoint_id=folder)
    >>> counter.n
    3
    """

    def state_dict(self) -> dict[str, Any]:
        """What is to be saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what was saved."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)


def _is_stateful(x: Any) -> bool:
    """Whether a value of a state dict is asked for its state."""
    return not isinstance(x, (Tensor, Mapping)) and isinstance(x, Stateful)
