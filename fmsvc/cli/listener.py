"""The listener on loopback to which the browser brings the code of a sign-in (RFC 8252, section 7.3)."""

import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

PATH = "/signed-in"
_PAGE = (
    b'<!doctype html><html lang="en"><meta charset="utf-8"><title>fmsvc</title>'
    b"<p>You can close this window.</p></html>"
)


class Listener:
    """Waits for one request with the `state` of the sign-in. Others are answered 404, and change nothing."""

    def __init__(self, server: "_Server") -> None:
        self._server = server

    @property
    def redirect_uri(self) -> str:
        """Where the browser is to be sent."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{PATH}"

    def wait(self, seconds: float) -> Mapping[str, str] | None:
        """The query of that request; None when none came in time."""
        try:
            return self._server.found.get(timeout=seconds)
        except queue.Empty:
            return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, state: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = state
        self.found: queue.Queue[Mapping[str, str]] = queue.Queue()


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # seconds; browsers open connections that they do not use
    server: _Server

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, max_num_fields=10))
        is_ours = parts.path == PATH and query.get("state") == self.server.state
        self.send_response(200 if is_ours else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(_PAGE) if is_ours else 0))
        self.send_header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if is_ours:
            self.wfile.write(_PAGE)
            self.server.found.put(query)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the request has the code in it."""


@contextmanager
def listening(state: str) -> Iterator[Listener]:
    """Listen on a free port of 127.0.0.1 within the block."""
    with _Server(state) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield Listener(server)
        finally:
            server.shutdown()
            thread.join()
