"""A web service with oddities, run as a pod: a good document, and answers that are none.

/openapi.json  a document    /html  a page    /moved  a redirect    /broken  an error    anything else  404
"""

import argparse
import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Odd", "version": "1"},
    "externalDocs": {"url": "/html", "description": "All about odds"},
    "paths": {
        "/odds": {"get": {"tags": ["odds"], "summary": "All odds", "responses": {"200": {"description": "odds"}}}},
        "/odds/{id}": {"delete": {"tags": ["odds"], "summary": "Drop one", "responses": {"204": {"description": ""}}}},
    },
    "components": {"schemas": {"Odd": {"type": "object", "properties": {"id": {"type": "integer"}}}}},
}
PAGES = {"/openapi.json": (200, json.dumps(DOCUMENT)), "/html": (200, "<html></html>"), "/broken": (500, "no")}


class Answers(BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self) -> None:
        status, body = PAGES.get(self.path, (404, "nothing here"))
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/openapi.json")
        else:
            self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--needs", default="")
    asked = parser.parse_args()
    if asked.needs:
        print(f"the mode is {os.environ[asked.needs]}", flush=True)
    server = HTTPServer((os.environ["POD_IP"], asked.port), Answers)
    print(f"listening on port {asked.port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
