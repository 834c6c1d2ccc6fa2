"""torch.distributed.elastic.agent.server.health_check_server: who asks an agent whether it is alive."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Callable


class HealthCheckServer:
    """Answers HTTP requests at a port: 200 if alive_callback(), the time of the agent's last look at its workers
    (seconds since 1970), is less than `timeout` seconds ago, else 503.

    >>> import time, urllib.request
    >>> from torch.distributed.elastic.agent.server.health_check_server import HealthCheckServer
    >>> server = HealthCheckServer(lambda: int(time.time()), 0, 5)
    >>> server.start()
    >>> urllib.request.urlopen(f"http://127.0.0.1:{server.port}").status
    200
    >>> server.stop()
    """

    def __init__(self, alive_callback: Callable[[], int], port: int, timeout: int) -> None:
        self._alive_callback, self._timeout, self._wanted = alive_callback, timeout, port
        self._server: http.server.ThreadingHTTPServer | None = None

    @property
    def port(self) -> int:
        """The port, of one chosen if it is 0."""
        return self._wanted if self._server is None else self._server.server_address[1]

    def start(self) -> None:
        """Answer from now on, in a thread."""
        alive, timeout = self._alive_callback, self._timeout

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802  the name that http.server calls
                """Say how the agent is."""
                self.send_response(200 if time.time() - alive() < timeout else 503)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Say nothing of requests."""

        self._server = http.server.ThreadingHTTPServer(("", self._wanted), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        server, self._server = self._server, None
        if server is not None:
            with contextlib.closing(server.socket):
                server.shutdown()


def create_healthcheck_server(alive_callback: Callable[[], int], port: int, timeout: int) -> HealthCheckServer:
    """A HealthCheckServer.

    >>> from torch.distributed.elastic.agent.server.health_check_server import create_healthcheck_server
    >>> create_healthcheck_server(lambda: 0, 29800, 5).port
    29800
    """
    return HealthCheckServer(alive_callback, port, timeout)
