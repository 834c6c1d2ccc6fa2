"""torch.distributed.elastic.timer: a part of a program that takes too long ends its process.

A worker says with `expires` how long it may take; a server in the process that started it, told through a queue or a
named pipe, ends a worker whose time is over.
"""

from __future__ import annotations

from ..... import _missing
from .api import TimerClient, TimerRequest, TimerServer, configure, expires
from .file_based_local_timer import FileTimerClient, FileTimerRequest, FileTimerServer
from .local_timer import LocalTimerClient, LocalTimerServer

__getattr__ = _missing.getter(__name__, ("api", "file_based_local_timer", "local_timer"))
