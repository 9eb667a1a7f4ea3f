"""A worker that answers SQL: DuckDB behind a small HTTP server. After SIGTERM it finishes what runs and exits with 0.

POST /query {"sql": "..."} -> {"columns": [...], "rows": [[...]], "seconds": n}     GET /healthz -> its own word
"""

import argparse
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import duckdb

from mooring.client.door import Closed, Door


class Engine:
    """One database in memory; every query gets a cursor of its own, so that several run side by side."""

    def __init__(self, threads: int, memory: str) -> None:
        self._connection = duckdb.connect(config={"threads": threads, "memory_limit": memory})

    def run(self, sql: str) -> dict[str, Any]:
        """The whole answer of one query."""
        started = time.monotonic()
        found = self._connection.cursor().execute(sql)
        columns = [column[0] for column in found.description or ()]
        rows = [list(row) for row in found.fetchall()]
        return {"columns": columns, "rows": rows, "seconds": round(time.monotonic() - started, 3)}


def make_handler(engine: Engine, door: Door) -> type[BaseHTTPRequestHandler]:
    """The routes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                self._answer(200, door.describe())
            else:
                self._answer(404, json.dumps({"error": "no such page"}))

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            try:
                with door.session():
                    self._answer(200, json.dumps(engine.run(json.loads(text)["sql"]), default=str))
            except Closed as closed:
                self._answer(410, json.dumps({"error": str(closed)}))
            except (duckdb.Error, KeyError, ValueError) as error:
                self._answer(400, json.dumps({"error": str(error)}))

        def _answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            return None

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", default="512MB")
    given = parser.parse_args()
    door = Door()
    door.close_on_sigterm()
    address = os.environ.get("POD_IP", "127.0.0.1")
    server = ThreadingHTTPServer((address, given.port), make_handler(Engine(given.threads, given.memory), door))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"answers SQL at {address}:{given.port}", flush=True)
    door.wait_empty()
    server.shutdown()
    print("drained", flush=True)


if __name__ == "__main__":
    main()
