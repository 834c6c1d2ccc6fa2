"""torch.distributed.rpc: workers call functions of each other, and hold on to values of each other."""

from .... import _missing
from . import api, constants, functions, options
from .agent import WorkerInfo
from .api import (
    _is_current_rpc_agent_set,
    _set_rpc_timeout,
    get_rpc_timeout,
    get_worker_info,
    init_rpc,
    remote,
    rpc_async,
    rpc_sync,
    shutdown,
)
from .options import BackendType, RpcBackendOptions, TensorPipeRpcBackendOptions
from .rref import RRef

PyRRef = RRef


def is_available() -> bool:
    """True: calls between processes are always there.

    >>> torch.distributed.rpc.is_available()
    True
    """
    return True


__getattr__ = _missing.getter(__name__)
