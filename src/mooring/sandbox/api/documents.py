"""The server's own paths: health, version, discovery, OpenAPI."""

import msgspec

from mooring.kube.transport import Request, Response
from mooring.sandbox.api.cluster import Cluster
from mooring.sandbox.api.status import json_response

_HEALTH = ("healthz", "livez", "readyz")
_TEXT = {"content-type": "text/plain; charset=utf-8"}
_VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "mooring/sandbox",
}


class Documents:
    """Serves what is not a resource."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def serve(self, request: Request, query: dict[str, str]) -> Response:
        """The document at a path; 404 when there is none."""
        match [part for part in request.path.split("/") if part]:
            case [probe, *_] if probe in _HEALTH:
                return json_response(200, b"ok", _TEXT)
            case ["version"]:
                return json_response(200, msgspec.json.encode(_VERSION))
            case _:
                return json_response(404, b"404 page not found\n", _TEXT)
