"""torch.cuda.streams."""

from .... import _missing
from . import Event, Stream

__getattr__ = _missing.getter(__name__)
