"""torch.distributed.rpc.options: what init_rpc is told."""

from __future__ import annotations

import enum

from .... import _missing
from .constants import DEFAULT_INIT_METHOD, DEFAULT_NUM_WORKER_THREADS, DEFAULT_RPC_TIMEOUT_SEC

NO_MAPS = "TensorPipeRpcBackendOptions: device_maps and devices other than the CPU are not implemented"


class BackendType(enum.Enum):
    """What carries calls. There is one, Python's connections, under PyTorch's name.

    >>> torch.distributed.rpc.BackendType.TENSORPIPE.name
    'TENSORPIPE'
    """

    TENSORPIPE = "TENSORPIPE"


class RpcBackendOptions:
    """Base of options: rpc_timeout, in seconds, of calls that are given none (0: none), and init_method.

    >>> torch.distributed.rpc.RpcBackendOptions().rpc_timeout
    60.0
    """

    def __init__(self, rpc_timeout: float = DEFAULT_RPC_TIMEOUT_SEC, init_method: str = DEFAULT_INIT_METHOD):
        self.rpc_timeout, self.init_method = rpc_timeout, init_method


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """num_worker_threads: how many calls of others run at a time; rpc_timeout: seconds a call may take (0: any);
    init_method: where the workers meet, env://, tcp://host:port or file://path.

    >>> torch.distributed.rpc.TensorPipeRpcBackendOptions(rpc_timeout=5).num_worker_threads
    16
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float = DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = DEFAULT_INIT_METHOD,
        device_maps: dict | None = None,
        devices: list | None = None,
        _transports: list | None = None,
        _channels: list | None = None,
    ):
        if device_maps or any(str(d) != "cpu" for d in devices or ()):
            raise NotImplementedError(NO_MAPS)
        super().__init__(float(rpc_timeout), init_method)
        self.num_worker_threads = num_worker_threads
        self.device_maps: dict = {}
        self.devices = list(devices or [])

    def set_device_map(self, to: str, device_map: dict):
        """Not implemented."""
        raise NotImplementedError(NO_MAPS)

    def set_devices(self, devices: list):
        """Takes the CPU alone."""
        if any(str(d) != "cpu" for d in devices):
            raise NotImplementedError(NO_MAPS)


__getattr__ = _missing.getter(__name__)
