"""torch.distributed.elastic.utils.api: environment variables, ports, and macros in arguments."""

from __future__ import annotations

import os
import socket
from string import Template
from typing import Any


def get_env_variable_or_raise(env_name: str) -> str:
    """The value of an environment variable; ValueError if it is not there.

    >>> from torch.distributed.elastic.utils import get_env_variable_or_raise
    >>> len(get_env_variable_or_raise("PATH")) > 0
    True
    """
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value


def get_socket_with_port() -> socket.socket:
    """A socket bound to a free port, which listens.

    >>> from torch.distributed.elastic.utils import get_socket_with_port
    >>> with get_socket_with_port() as s:
    ...   s.getsockname()[1] > 0
    True
    """
    for family, kind, protocol, _, address in socket.getaddrinfo(None, 0, type=socket.SOCK_STREAM):
        made = socket.socket(family, kind, protocol)
        try:
            made.bind(address)
            made.listen(0)
            return made
        except OSError:
            made.close()
    raise RuntimeError("Failed to create a socket")


class macros:
    """What stands for a worker's number in arguments: `${local_rank}`.

    >>> from torch.distributed.elastic.utils import macros
    >>> macros.substitute(["--rank", macros.local_rank], "3")
    ['--rank', '3']
    """

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args: list[Any], local_rank: str) -> list[Any]:
        """The arguments with the number in its place."""
        return [Template(a).safe_substitute(local_rank=local_rank) if isinstance(a, str) else a for a in args]
