"""torch.distributed.elastic.events: what happens in a job, as records of Python's logging."""

from __future__ import annotations

import logging
import os
import socket
import sys
import traceback

from ..... import _missing
from .api import Event, EventMetadataValue, EventSource, NodeState, RdzvEvent

_loggers: dict[str, logging.Logger] = {}
_HANDLERS = {"console": lambda: logging.StreamHandler(sys.stderr), "null": logging.NullHandler}


def get_logging_handler(destination: str = "null") -> logging.Handler:
    """The handler of a destination: "null" or "console".

    >>> from torch.distributed.elastic.events import get_logging_handler
    >>> type(get_logging_handler("null")).__name__
    'NullHandler'
    """
    if destination not in _HANDLERS:
        raise KeyError(f"{destination!r} is no destination of events; there are {sorted(_HANDLERS)}")
    return _HANDLERS[destination]()


def _logger(destination: str) -> logging.Logger:
    if destination not in _loggers:
        made = logging.getLogger(f"torchelastic-events-{destination}")
        made.setLevel(os.environ.get("LOGLEVEL", "INFO"))
        made.propagate = False
        made.addHandler(get_logging_handler(destination))
        _loggers[destination] = made
    return _loggers[destination]


def record(event: Event, destination: str = "null") -> None:
    """Log an event.

    >>> from torch.distributed.elastic.events import Event, EventSource, record
    >>> record(Event("started", EventSource.AGENT))
    """
    _logger(destination).info(event.serialize())


def record_rdzv_event(event: RdzvEvent) -> None:
    """Log an event of a rendezvous.

    >>> from torch.distributed.elastic.events import NodeState, RdzvEvent, record_rdzv_event
    >>> record_rdzv_event(RdzvEvent("joined", "job", "all there", "host", 1, NodeState.RUNNING))
    """
    _logger("null").info(event.serialize())


def construct_and_record_rdzv_event(
    run_id: str,
    message: str,
    node_state: NodeState,
    name: str = "",
    hostname: str = "",
    pid: int | None = None,
    master_endpoint: str = "",
    local_id: int | None = None,
    rank: int | None = None,
) -> None:
    """Log an event of a rendezvous, of this process.

    >>> from torch.distributed.elastic.events import NodeState, construct_and_record_rdzv_event
    >>> construct_and_record_rdzv_event("job", "all there", NodeState.RUNNING)
    """
    trace = traceback.format_exc() if node_state is NodeState.FAILED else ""
    host, number = hostname or socket.getfqdn(), os.getpid() if pid is None else pid
    record_rdzv_event(
        RdzvEvent(name, run_id, message, host, number, node_state, master_endpoint, rank, local_id, trace)
    )


__all__ = [
    "Event",
    "EventMetadataValue",
    "EventSource",
    "NodeState",
    "RdzvEvent",
    "construct_and_record_rdzv_event",
    "get_logging_handler",
    "record",
    "record_rdzv_event",
]

__getattr__ = _missing.getter(__name__, ("api",))
