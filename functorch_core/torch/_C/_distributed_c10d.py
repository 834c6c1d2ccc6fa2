"""torch._C._distributed_c10d: names of torch.distributed."""

from ..distributed.group import ProcessGroup, ReduceOp, Work
from .._missing import getter as _getter

_DEFAULT_PG_TIMEOUT = __import__("datetime").timedelta(minutes=30)
__getattr__ = _getter(__name__)
