"""A worker that answers SQL: DuckDB behind a small HTTP server. After SIGTERM it finishes its queries and exits with 0.

POST /query {"sql": "..."} -> {"columns": [...], "rows": [[...]], "seconds": n}
GET /healthz -> whether it executes
"""

import argparse
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import duckdb

from mooring.client.session_gate import Draining, SessionGate


class Engine:
    """One database in memory; every query gets its own cursor, so that several run in parallel."""

    def __init__(self, threads: int, memory: str) -> None:
        self._connection = duckdb.connect(config={"threads": threads, "memory_limit": memory})

    def run(self, sql: str) -> dict[str, Any]:
        """The whole result of one query."""
        started = time.monotonic()
        found = self._connection.cursor().execute(sql)
        columns = [column[0] for column in found.description or ()]
        rows = [list(row) for row in found.fetchall()]
        return {"columns": columns, "rows": rows, "seconds": round(time.monotonic() - started, 3)}


def make_handler(engine: Engine, gate: SessionGate) -> type[BaseHTTPRequestHandler]:
    """The routes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                self._answer(200, gate.describe())
            else:
                self._answer(404, json.dumps({"error": "no such page"}))

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            try:
                with gate.session():
                    self._answer(200, json.dumps(engine.run(json.loads(text)["sql"]), default=str))
            except Draining as draining:
                self._answer(410, json.dumps({"error": str(draining)}))
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
    gate = SessionGate()
    gate.close_on_sigterm()
    address = os.environ.get("POD_IP", "127.0.0.1")
    server = ThreadingHTTPServer((address, given.port), make_handler(Engine(given.threads, given.memory), gate))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"answers SQL at {address}:{given.port}", flush=True)
    gate.wait_drained()
    server.shutdown()
    print("drained", flush=True)


if __name__ == "__main__":
    main()
