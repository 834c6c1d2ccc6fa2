"""torch.backends.miopen: AMD's library of kernels is not used; the flag is kept."""

from ._flags import context_of as _context_of

immediate = False
flags = _context_of(globals(), "immediate")


def set_flags(_immediate: bool | None = None) -> tuple:
    """Set the flag; what it was."""
    global immediate
    was = immediate
    if _immediate is not None:
        immediate = bool(_immediate)
    return (was,)
