"""torch._dynamo.utils: names that packages import."""

import contextlib
import functools

from ....core.warn import warn
from ..._missing import getter

__getattr__ = getter(__name__)


@contextlib.contextmanager
def disable_cache_limit():
    """Context without effect: there is no limit."""
    yield


def is_compile_supported(device_type) -> bool:
    """True: what torch.compile returns runs everywhere."""
    return True


@functools.cache
def warn_once(msg: str, stacklevel: int = 1):
    """A warning, the first time that it is given."""
    warn(msg)
