"""torch.distributed.elastic.events.api: what an event is."""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass, field

EventMetadataValue = str | int | float | bool | None


class EventSource(str, enum.Enum):  # noqa: UP042  its str is that of PyTorch's
    """Who an event comes from.

    >>> from torch.distributed.elastic.events import EventSource
    >>> EventSource.AGENT.value
    'AGENT'
    """

    AGENT = "AGENT"
    WORKER = "WORKER"


class NodeState(str, enum.Enum):  # noqa: UP042  its str is that of PyTorch's
    """The state of a machine in a rendezvous.

    >>> from torch.distributed.elastic.events import NodeState
    >>> NodeState.RUNNING.value
    'RUNNING'
    """

    INIT = "INIT"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


@dataclass
class Event:
    """Something that happened.

    >>> from torch.distributed.elastic.events import Event, EventSource
    >>> Event("started", EventSource.WORKER, metadata={"rank": 1})
    {"name": "started", "source": "WORKER", "timestamp": 0, "metadata": {"rank": 1}}
    """

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, EventMetadataValue] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.serialize()

    __repr__ = __str__

    def serialize(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def deserialize(data: str | Event) -> Event:
        """Of JSON."""
        if isinstance(data, Event):
            return data
        found = json.loads(data)
        return Event(**{**found, "source": EventSource[found["source"]]})


@dataclass
class RdzvEvent:
    """Something that happened in a rendezvous.

    >>> from torch.distributed.elastic.events import NodeState, RdzvEvent
    >>> RdzvEvent("joined", "job", "all there", "host", 1, NodeState.RUNNING).message
    'all there'
    """

    name: str
    run_id: str
    message: str
    hostname: str
    pid: int
    node_state: NodeState
    master_endpoint: str = ""
    rank: int | None = None
    local_id: int | None = None
    error_trace: str = ""

    def __str__(self) -> str:
        return self.serialize()

    __repr__ = __str__

    def serialize(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def deserialize(data: str | RdzvEvent) -> RdzvEvent:
        """Of JSON."""
        if isinstance(data, RdzvEvent):
            return data
        found = json.loads(data)
        return RdzvEvent(**{**found, "node_state": NodeState[found["node_state"]]})
