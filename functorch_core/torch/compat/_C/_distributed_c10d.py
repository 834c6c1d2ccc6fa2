"""torch._C._distributed_c10d: names of torch.distributed."""

from datetime import timedelta as _timedelta

from ..._missing import getter as _getter
from ..distributed.group import ProcessGroup, ReduceOp, Work

_DEFAULT_PG_TIMEOUT = _timedelta(minutes=30)
__getattr__ = _getter(__name__)
