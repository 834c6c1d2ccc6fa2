"""torch.cuda.amp.common: whether there is anything to scale for."""

from .. import is_available

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU.

    >>> torch.cuda.amp.amp_definitely_not_available() == (not torch.cuda.is_available())
    True
    """
    return not is_available()
