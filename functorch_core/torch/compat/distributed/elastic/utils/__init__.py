"""torch.distributed.elastic.utils: stores, ports and environment variables of agents."""

from ..... import _missing
from .api import get_env_variable_or_raise, get_socket_with_port, macros

__all__ = ["get_env_variable_or_raise", "get_socket_with_port", "macros"]

__getattr__ = _missing.getter(__name__, ("api", "data", "distributed", "store"))
