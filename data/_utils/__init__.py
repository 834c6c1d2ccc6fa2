"""What the DataLoader is made of: collating, reading, workers, the way between processes."""

from . import collate, fetch, pin_memory, worker
from .worker import MP_STATUS_CHECK_INTERVAL
