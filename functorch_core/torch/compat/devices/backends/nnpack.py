"""torch.backends.nnpack: the answer is that of PyTorch's builds; the flag is kept."""

from .... import _missing
from ._flags import answer as _answer
from ._flags import context_of as _context_of

enabled = True
flags = _context_of(globals(), "enabled")
is_available = _answer(True, "Whether there are fast kernels for convolutions.", "nnpack.is_available")
_nnpack_available = is_available


def set_flags(_enabled: bool) -> tuple:
    """Set the flag; what it was.

    >>> torch.backends.nnpack.set_flags(True)
    (True,)
    """
    global enabled
    was, enabled = enabled, bool(_enabled)
    return (was,)


__getattr__ = _missing.getter(__name__)
