"""One HTTP connection to Mooring, and how to find it: arguments, environment, state folder."""

import http.client
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from mooring.client.errors import Unreachable, read_error
from mooring.model.errors import InvalidInput, Misconfigured

STATE_FOLDER = Path(".state")
IN_CLUSTER_URL = "http://mooring.mooring.svc"
ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where Mooring is, and the token it wants."""

    url: str
    token: str


def find_endpoint(url: str = "", token: str = "", state: Path | None = None) -> Endpoint:
    """From arguments, then `MOORING_URL` and `MOORING_TOKEN`, then the state folder of a local `mooring up`.

    In a pod, without any of these, the address is that of the Service that `mooring install` makes.
    """
    folder = state or Path(os.environ.get("MOORING_STATE", "") or STATE_FOLDER)
    url = url or os.environ.get("MOORING_URL", "") or _first_line(folder / "url") or _service()
    token = token or os.environ.get("MOORING_TOKEN", "") or _first_line(folder / "token")
    if not url:
        raise Misconfigured(
            "where Mooring runs is not known", fix="start one with 'mooring up', or give --url or MOORING_URL"
        )
    return check_endpoint(Endpoint(url.rstrip("/"), token))


def check_endpoint(endpoint: Endpoint) -> Endpoint:
    """The endpoint itself, unless no request could ever be sent to it."""
    try:
        parts = urlsplit(endpoint.url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise InvalidInput("url", endpoint.url, "an address such as http://127.0.0.1:8080")
    if not (endpoint.token.isascii() and endpoint.token.isprintable()):
        raise InvalidInput("token", "...", "printable ASCII characters on one line")
    return endpoint


def _service() -> str:
    """A pod is known by its service account; its cluster's name service finds the rest."""
    return IN_CLUSTER_URL if ACCOUNT_TOKEN.exists() else ""


def _first_line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


class Connection:
    """Plain requests, one at a time, no retries."""

    def __init__(self, endpoint: Endpoint, timeout_seconds: float = 30.0) -> None:
        self._endpoint = endpoint
        self._timeout = timeout_seconds

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The decoded JSON of a GET."""
        return self.request("GET", path, query=query)

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float | None = None,
    ) -> Any:
        """The decoded JSON of an answer, None for an empty one; raises `RemoteError` or `Unreachable`."""
        connection, answer = self._send(method, path, query, body, timeout_seconds or self._timeout)
        try:
            payload = self._read(answer)
        finally:
            connection.close()
        try:
            return json.loads(payload) if payload else None
        except ValueError as error:
            raise read_error(answer.status, payload) from error

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a stream, until it ends."""
        connection, answer = self._send("GET", path, None, None, 60.0)
        try:
            for raw in answer:
                yield raw.decode("utf-8", "replace").rstrip("\n")
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, body: object, timeout: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        parts = urlsplit(self._endpoint.url)
        maker = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = maker(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)
        given = {name: value for name, value in (query or {}).items() if value}
        target = parts.path + path + (f"?{urlencode(given)}" if given else "")
        headers = {"Authorization": f"Bearer {self._endpoint.token}", "Accept": "application/json"}
        payload = None
        if body is not None:
            payload = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, target, body=payload, headers=headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        if answer.status >= 400:
            try:
                raise read_error(answer.status, self._read(answer))
            finally:
                connection.close()
        return connection, answer

    def _read(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            return answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(
            f"{self._endpoint.url} does not answer: {error}", fix="is it running? start it with 'mooring up'"
        )
