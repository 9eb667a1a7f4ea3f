"""The server's own paths: health, version, discovery, OpenAPI."""

from email.utils import format_datetime

import msgspec

from drydock.api.answers.status import json_response
from drydock.api.cluster import Cluster
from drydock.api.discovery import Discovery
from drydock.api.openapi.documents import OpenApi
from hawser.transport import Request, Response

_HEALTH = ("healthz", "livez", "readyz")
_TEXT = {"content-type": "text/plain; charset=utf-8"}
_JSON = {"content-type": "application/json"}
_VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "drydock",
}


class Documents:
    """Serves what is not a resource; made anew when the kinds have changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._catalog = cluster.catalog
        self._clock = cluster.clock
        self._revision = -1
        self._discovery = Discovery(())
        self._openapi = OpenApi(())

    def serve(self, request: Request, query: dict[str, str]) -> Response:
        """The document at a path; 404 when there is none."""
        match [part for part in request.path.split("/") if part]:
            case [probe, *_] if probe in _HEALTH:
                return json_response(200, b"ok", _TEXT)
            case ["version"]:
                date = format_datetime(self._clock.now(), usegmt=True)
                return json_response(200, msgspec.json.encode(_VERSION), {**_JSON, "date": date})
        self._refresh()
        accept = request.headers.get("accept", "")
        found = self._discovery.find(request.path, accept) or self._openapi.find(request.path, accept, query)
        if found is None:
            return json_response(404, b"404 page not found\n", _TEXT)
        headers = {"content-type": found.content_type, **found.headers}
        if found.headers.get("etag", "-") == request.headers.get("if-none-match"):
            return json_response(304, b"", headers)
        return json_response(found.status, found.body, headers)

    def _refresh(self) -> None:
        if self._revision != self._catalog.revision:
            self._revision = self._catalog.revision
            self._discovery = Discovery(self._catalog.kinds())
            self._openapi = OpenApi(self._catalog.kinds())
