"""Plain blocking requests to Mooring, and its address: from arguments, the environment, a state folder or the pod."""

import http.client
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from mooring.client.errors import Unavailable, Unreachable, read_error
from mooring.client.login_file import read_login
from mooring.client.trust import explain_refusal, make_context
from mooring.model import names
from mooring.model.errors import InvalidInput, Misconfigured
from mooring.model.hosts import is_loopback

STATE_FOLDER = Path(".state")
IN_CLUSTER_URL = "https://mooring.mooring.svc"
PROJECTED_TOKEN = Path("/var/run/secrets/mooring/token")
ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of Mooring, the bearer token for it, and the CA certificates by which it is known."""

    url: str
    token: str = field(repr=False)
    ca: str = ""  # a file, or PEM; empty: those of the system
    token_file: Path | None = None  # read for every request: projected tokens are replaced while a program runs

    @property
    def tls(self) -> ssl.SSLContext | None:
        """None for plain HTTP."""
        return make_context(self.ca) if self.url.startswith("https:") else None

    @property
    def headers(self) -> dict[str, str]:
        """Sent with every request."""
        token = self.token if self.token_file is None else _first_line(self.token_file)
        return {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def target(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """The whole URL of a request. Query parameters without a value are left out."""
        given = {name: value for name, value in (query or {}).items() if value}
        return self.url + path + (f"?{urlencode(given)}" if given else "")

    def unreachable(self, error: Exception) -> Unreachable:
        """No answer came, for this reason."""
        if (refusal := explain_refusal(self.url, error)) is not None:
            return refusal
        cause = str(error) or type(error).__name__
        return Unreachable(f"{self.url} does not answer: {cause}", fix="is it running? start it with 'mooring up'")


StateFolder = str | os.PathLike[str] | None
CaFile = str | os.PathLike[str] | None


def find_endpoint(url: str = "", token: str = "", state: StateFolder = None, ca: CaFile = None) -> Endpoint:
    """From arguments, then the environment, then the state folder of a local `mooring up`, then `mooring login`.

    In a pod, without any of these, the address is that of the Service that `mooring install` creates, and the token is
    the one that is projected for the audience `mooring`.
    """
    for name, value in (("url", url), ("token", token)):
        if not isinstance(value, str):
            raise InvalidInput(name, "..." if name == "token" else value, "text")
    if not isinstance(state, str | os.PathLike | None):
        raise InvalidInput("state", state, "the path of a folder")
    if not isinstance(ca, str | os.PathLike | None):
        raise InvalidInput("ca", ca, "the path of a file, or certificates (PEM)")
    named = state or os.environ.get("MOORING_STATE", "")
    folder = Path(named or STATE_FOLDER)
    stored = read_login()
    url = url or os.environ.get("MOORING_URL", "") or _local_url(folder, trusted=bool(named))
    url = (url or (stored.url if stored is not None else "") or _in_cluster_url()).rstrip("/")
    token = token or os.environ.get("MOORING_TOKEN", "")
    token_file = _token_file() if not token else None
    if not token and token_file is None:
        token = read_state(folder, "token")
    if not token and token_file is None and stored is not None and stored.url == url:
        token = stored.token  # for that address, and for no other
    if not token and token_file is None and PROJECTED_TOKEN.exists():
        token_file = PROJECTED_TOKEN
    if not url:
        raise Misconfigured(
            "cannot find a Mooring server",
            fix="start one with 'mooring up'; if one runs, name its folder with --state or MOORING_STATE, or its"
            " address with --url or MOORING_URL, or log in with 'mooring login --url URL'",
        )
    authority = os.fspath(ca) if ca else os.environ.get("MOORING_CA", "")
    return check_endpoint(Endpoint(url, token, authority, token_file))


def read_state(folder: Path, name: str) -> str:
    """The address (`url`) or the token that a local `mooring up` keeps in its folder; empty without one."""
    return _first_line(folder / name)


def _local_url(folder: Path, *, trusted: bool) -> str:
    """The address of the local `mooring up`. The current directory may be that of somebody else, such as a repository:
    its folder must not send the caller's token to another machine.
    """
    url = read_state(folder, "url")
    if url and not trusted and not is_loopback(_host(url)):
        raise Misconfigured(
            f"{folder / 'url'} in the current directory does not name this machine",
            fix="name the address with --url or MOORING_URL, or the folder with --state if you trust it",
        )
    return url


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _token_file() -> Path | None:
    """The file that `MOORING_TOKEN_FILE` names, unless it is the one that a worker fetches its sessions with."""
    named = os.environ.get(names.TOKEN_FILE, "")
    if named in ("", os.environ.get(names.DISPATCH_TOKEN_FILE)):
        return None
    path = Path(named)
    if not _first_line(path):
        raise Misconfigured(f"{names.TOKEN_FILE}: {path} has no token", fix="name a file with a token, or unset it")
    return path


def check_endpoint(endpoint: Endpoint) -> Endpoint:
    """The endpoint itself; raises `InvalidInput` when no request can be sent to it."""
    try:
        parts = urlsplit(endpoint.url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidInput("url", endpoint.url, "an address such as http://127.0.0.1:8080")
    if not (endpoint.token.isascii() and endpoint.token.isprintable()):
        raise InvalidInput("token", "...", "printable ASCII characters on one line")
    _ = endpoint.tls  # raises if the CA cannot be read
    return endpoint


def read_answer(status: int, payload: bytes) -> Any:
    """Decoded JSON, None for an empty answer; raises the `RemoteError` that the answer stands for."""
    if status >= 400:
        raise read_error(status, payload)
    try:
        return json.loads(payload) if payload else None
    except ValueError as error:
        raise Unavailable(status, "unreadable", f"the answer is not JSON: {payload[:200]!r}", {}) from error


def _in_cluster_url() -> str:
    """A pod has a service account; the cluster's DNS resolves the name of the Service."""
    return IN_CLUSTER_URL if ACCOUNT_TOKEN.exists() else ""


def _first_line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


class Connection:
    """Requests one at a time, without retries. Each opens a TCP connection of its own."""

    def __init__(self, endpoint: Endpoint, timeout_seconds: float = 30.0) -> None:
        self._endpoint = endpoint
        self._timeout = timeout_seconds

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """Decoded JSON of a GET."""
        return self.request("GET", path, query=query)

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float | None = None,
    ) -> Any:
        """Decoded JSON of the answer, None for an empty one; raises `RemoteError` or `Unreachable`."""
        target = self._endpoint.target(path, query)
        connection, answer = self._send(method, target, body, timeout_seconds or self._timeout)
        try:
            return read_answer(answer.status, self._read(answer))
        finally:
            connection.close()

    def lines(self, path: str, silence_seconds: float = 60.0) -> Iterator[str]:
        """The lines of a stream, until it ends or is silent for too long."""
        connection, answer = self._send("GET", self._endpoint.target(path), None, silence_seconds)
        try:
            if answer.status >= 400:
                raise read_error(answer.status, self._read(answer))
            for raw in answer:
                yield raw.decode("utf-8", "replace").rstrip("\n")
        except (OSError, http.client.HTTPException) as error:
            raise self._endpoint.unreachable(error) from error
        finally:
            connection.close()

    def _send(
        self, method: str, target: str, body: object, timeout_seconds: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        parts = urlsplit(target)
        connection = self._open(parts.hostname or "127.0.0.1", parts.port, timeout_seconds)
        headers, payload = self._endpoint.headers, None
        if body is not None:
            payload = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(method, path, body=payload, headers=headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._endpoint.unreachable(error) from error
        except BaseException:  # an interrupt while the answer is awaited
            connection.close()
            raise

    def _open(self, host: str, port: int | None, timeout_seconds: float) -> http.client.HTTPConnection:
        if (tls := self._endpoint.tls) is not None:
            return http.client.HTTPSConnection(host, port, timeout=timeout_seconds, context=tls)
        return http.client.HTTPConnection(host, port, timeout=timeout_seconds)

    def _read(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            return answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._endpoint.unreachable(error) from error
