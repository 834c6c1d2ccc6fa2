"""What the DataLoader is made of: collating, reading, workers, the way between processes."""

import sys

from . import collate, fetch, pin_memory, signal_handling, worker
from .worker import MP_STATUS_CHECK_INTERVAL

HAS_NUMPY, IS_WINDOWS = True, sys.platform == "win32"
