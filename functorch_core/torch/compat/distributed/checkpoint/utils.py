"""torch.distributed.checkpoint.utils: the error by its former place."""

from .... import _missing
from .api import CheckpointException

__all__ = ["CheckpointException"]
__getattr__ = _missing.getter(__name__)
