"""torch.distributed.elastic.rendezvous.c10d_rendezvous_backend: the state of a rendezvous in a store of c10d."""

from __future__ import annotations

import base64
import os
import tempfile
from typing import Any

from ...errors import DistError
from ...stores import FileStore, HashStore, Store, TCPStore
from .api import RendezvousConnectionError, RendezvousParameters, RendezvousStateError
from .dynamic_rendezvous import RendezvousBackend, Token
from .utils import is_own_host, parse_rendezvous_endpoint

DEFAULT_PORT = 29400
LOST = "The connection to the C10d store has failed. See inner exception for details."


class C10dRendezvousBackend(RendezvousBackend):
    """The state of the rendezvous of a job, in a store.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
    >>> backend = C10dRendezvousBackend(dist.HashStore(), "job")
    >>> state, token, replaced = backend.set_state(b"one")
    >>> backend.set_state(b"two", token)[2], backend.set_state(b"three", token)[2], backend.get_state()[0]
    (True, False, b'two')
    """

    NULL = "none"  # what is there before a state is

    def __init__(self, store: Store, run_id: str):
        if not run_id:
            raise ValueError("The run id must be a non-empty string.")
        self._store, self._key = store, f"torch.rendezvous.{run_id}"
        self._call("compare_set", self._key, "", self.NULL)

    @property
    def name(self) -> str:
        """c10d."""
        return "c10d"

    def get_state(self) -> tuple[bytes, Token] | None:
        """The state and its token; None if there is none."""
        return self._decoded(self._call("get", self._key))

    def set_state(self, state: bytes, token: Token | None = None) -> tuple[bytes, Token, bool] | None:
        """Replace the state if the token, or that there is none, still holds."""
        text = base64.b64encode(state).decode()
        expected = self.NULL if token is None else bytes(token).decode()
        found = self._call("compare_set", self._key, expected, text)
        decoded = self._decoded(found)
        return None if decoded is None else (*decoded, found == text.encode())

    def _call(self, method: str, *args: Any) -> Any:
        try:
            return getattr(self._store, method)(*args)
        except (DistError, OSError, EOFError, RuntimeError) as error:
            raise RendezvousConnectionError(LOST) from error

    def _decoded(self, text: bytes) -> tuple[bytes, Token] | None:
        if text == self.NULL.encode():
            return None
        try:
            return base64.b64decode(text, validate=True), text
        except ValueError as error:
            raise RendezvousStateError("The state object is corrupt. See inner exception for details.") from error


def create_backend(params: RendezvousParameters) -> tuple[C10dRendezvousBackend, Store]:
    """The backend that parameters say, and its store: a TCPStore at the endpoint, whose server is this process if the
    endpoint is of this machine (option is_host) and no other's is there yet, or a FileStore (option store_type=file).

    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_backend
    >>> backend, store = create_backend(RendezvousParameters("c10d", "localhost:0", "job", 1, 2))
    >>> backend.name, type(store).__name__
    ('c10d', 'TCPStore')
    """
    kind = str(params.get("store_type", "tcp")).strip().lower()
    try:
        if kind == "file":
            path = params.endpoint or tempfile.mkstemp()[1]
            store: Store = FileStore(os.fspath(path))
        elif kind != "tcp":
            raise ValueError("Invalid store type given. Currently only supports file and tcp.")
        elif params.max_nodes == 1 and not params.endpoint:  # nobody else comes
            store = HashStore()
        else:
            store = _tcp_store(params)
    except (DistError, OSError) as error:
        raise RendezvousConnectionError(LOST) from error
    return C10dRendezvousBackend(store, params.run_id), store


def _tcp_store(params: RendezvousParameters) -> TCPStore:
    host, port = parse_rendezvous_endpoint(params.endpoint, default_port=DEFAULT_PORT)
    timeout = params.get_as_int("read_timeout", 60)
    if timeout is None or timeout <= 0:
        raise ValueError("The read timeout must be a positive integer.")
    is_host = params.get_as_bool("is_host")
    if is_host or (is_host is None and is_own_host(host)):
        try:
            return TCPStore(host, port, is_master=True, timeout=timeout)
        except DistError:
            if is_host:
                raise
    return TCPStore(host, port, timeout=timeout)
