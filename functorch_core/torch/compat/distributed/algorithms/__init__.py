"""torch.distributed.algorithms: what trains with collectives."""

from .... import _missing
from .join import Join, Joinable, JoinHook

__getattr__ = _missing.getter(__name__, ("_checkpoint", "ddp_comm_hooks", "join", "model_averaging"))
