"""torch.backends.mps: Apple's GPUs are not supported."""

import platform

from .... import _missing
from ._flags import answer as _answer

is_available = _answer(False, "Whether there is an Apple GPU to use: no.", "mps.is_available")
is_built = _answer(False, "Whether this library can use Apple's GPUs: no.", "mps.is_built")
__getattr__ = _missing.getter(__name__)


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is macOS of at least a version.

    >>> isinstance(torch.backends.mps.is_macos_or_newer(13, 0), bool)
    True
    """
    found = platform.mac_ver()[0]
    return bool(found) and tuple(map(int, found.split(".")[:2])) >= (major, minor)


is_macos13_or_newer = _answer(
    is_macos_or_newer(13, 0), "Whether the system is macOS 13 or newer.", "mps.is_macos13_or_newer"
)
