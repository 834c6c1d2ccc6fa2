"""torch.distributed.elastic.agent: the server that watches workers."""

from ..... import _missing

__getattr__ = _missing.getter(__name__, ("server",))
