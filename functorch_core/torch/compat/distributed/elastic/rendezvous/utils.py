"""torch.distributed.elastic.rendezvous.utils: endpoints, and which machine they are of."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket

ENDPOINT = re.compile(r"\A(?:\[(?P<v6>[0-9a-fA-F:.%\w]+)\]|(?P<host>[^\s:\[\]]+))(?::(?P<port>\d+))?\Z")


def parse_rendezvous_endpoint(endpoint: str | None, default_port: int) -> tuple[str, int]:
    """(host, port) of host[:port]; ValueError if it is no such thing.

    >>> from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint
    >>> parse_rendezvous_endpoint("node1", 29400), parse_rendezvous_endpoint("[::1]:80", 29400)
    (('node1', 29400), ('::1', 80))
    """
    text = (endpoint or "").strip()
    if not text:
        return "localhost", default_port
    found = ENDPOINT.match(text)
    if found is None:
        raise ValueError(
            f"The hostname of the rendezvous endpoint '{endpoint}' must be a dot-separated list of labels, an IPv4 "
            "address, or an IPv6 address in brackets, with a port behind a colon or none: host:29400"
        )
    port = int(found["port"] or default_port)
    if port > 65535:
        raise ValueError(f"The port number of the rendezvous endpoint '{endpoint}' must be between 0 and 65535.")
    return found["v6"] or found["host"], port


def is_own_host(host: str) -> bool:
    """Whether a name or address is this machine's.

    >>> from torch.distributed.elastic.rendezvous.utils import is_own_host
    >>> is_own_host("localhost"), is_own_host("192.0.2.1")
    (True, False)
    """
    if host in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    with contextlib.suppress(OSError):
        for family, kind, protocol, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
            with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as tried:
                tried.bind(address)  # only what is its own can be bound
                return True
    return False


def own_address(host: str) -> str:
    """How other machines that meet at a host reach this one: the address that it is reached from; the host's name on
    that machine itself.

    >>> from torch.distributed.elastic.rendezvous.utils import own_address
    >>> own_address("localhost")
    'localhost'
    """
    if not host or is_own_host(host):
        return host or "127.0.0.1"
    with contextlib.suppress(OSError):
        family, kind, protocol, _, address = socket.getaddrinfo(host, 1, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.connect(address)  # nothing is sent
            found = str(tried.getsockname()[0])
            if not ipaddress.ip_address(found.partition("%")[0]).is_loopback:
                return found
    return socket.getfqdn()
