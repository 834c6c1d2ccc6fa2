"""Functions that do the same to the data and to the mask: see functions.py."""

from .functions import MOVING as PASSTHROUGH_NAMES

__all__ = ["PASSTHROUGH_NAMES"]
