"""A web service that uses the cluster it runs in: /pods runs kubectl, /token shows the token it has for others."""

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

DOCUMENT = '{"openapi": "3.1.0", "info": {"title": "Looking", "version": "1"}, "paths": {}}'


def list_pods() -> str:
    """What kubectl says, which looks for the API server and its token by itself."""
    done = subprocess.run(["kubectl", "get", "pods", "-o", "name"], capture_output=True, text=True, check=False)
    return done.stdout or done.stderr


def read_token() -> str:
    """A projected token; a node without real mounts names their folder in DRYDOCK_ROOT."""
    return Path(f"{os.environ.get('DRYDOCK_ROOT', '')}{sys.argv[1]}").read_text()


class Answers(BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self) -> None:
        pages = {"/openapi.json": lambda: DOCUMENT, "/pods": list_pods, "/token": read_token}
        page = pages.get(self.path)
        self.send_response(404 if page is None else 200)
        self.end_headers()
        self.wfile.write((page() if page else "nothing here").encode())

    def log_message(self, *_: object) -> None:
        return None


if __name__ == "__main__":
    HTTPServer((os.environ["POD_IP"], 8080), Answers).serve_forever()
