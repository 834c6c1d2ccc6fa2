"""torch.distributed.nn.api: modules of other processes."""

from ..... import _missing

__getattr__ = _missing.getter(__name__, ("remote_module",))
