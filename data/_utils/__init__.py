"""What the DataLoader is made of: collating, reading, workers, the way between processes."""

import atexit
import sys

from . import collate, fetch, pin_memory, signal_handling, worker
from .worker import MP_STATUS_CHECK_INTERVAL

HAS_NUMPY, IS_WINDOWS = True, sys.platform == "win32"
python_exit_status = False  # whether Python is about to end: loaders of other packages then leave their workers alone


@atexit.register
def _set_python_exit_flag():
    global python_exit_status
    python_exit_status = True
