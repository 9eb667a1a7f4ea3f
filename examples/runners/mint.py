"""The pool's mint: gives each session its own credentials, and fails the first time."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    lock = threading.Lock()
    asked = 0

    def do_POST(self) -> None:
        wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with _Handler.lock:
            _Handler.asked += 1
            first = _Handler.asked == 1
        body = json.dumps({"env": {"CLONE_TOKEN": f"token-of-{wanted['owner']}"}}).encode()
        self.send_response(503 if first else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing; the report of the example has what matters."""


@contextmanager
def running_mint() -> Iterator[str]:
    """The URL of a running mint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mint"
    finally:
        server.shutdown()
        server.server_close()
