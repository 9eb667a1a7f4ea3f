"""Who we are: credentials that are renewed in time, once for everybody who waits, and put on every request."""

import asyncio
import base64
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

import structlog

from hawser.clock import Clock
from hawser.errors import CredentialsFailed
from hawser.tls import ClientCertificate
from hawser.transport import Request, Response, Transport

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Credential:
    """What proves who we are: a header, a certificate, both or (anonymous) neither."""

    authorization: str = field(default="", repr=False)
    certificate: ClientCertificate | None = None
    expires_at: datetime | None = None


def bearer(token: str) -> str:
    """The header for a token; raises `CredentialsFailed` for one that cannot be sent."""
    if not (token.isascii() and token.isprintable()):
        raise CredentialsFailed("the token has a line break, or another character that a header cannot have")
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    """The header for a user name and password."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


class CredentialSource(Protocol):
    """Where credentials come from. `reload_seconds` is how long one may be used before looking for a newer one."""

    @property
    def reload_seconds(self) -> float | None: ...

    async def load(self) -> Credential:
        """The newest credential; raises `CredentialsFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class FixedCredential:
    """A credential that never changes."""

    credential: Credential
    reload_seconds: float | None = None

    async def load(self) -> Credential:
        return self.credential


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file that somebody else keeps fresh, such as a projected service account token."""

    path: Path
    certificate: ClientCertificate | None = None
    reload_seconds: float | None = 60.0

    async def load(self) -> Credential:
        try:
            token = self.path.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            raise CredentialsFailed(f"the token file {self.path} cannot be read: {error}") from error
        if not token:
            raise CredentialsFailed(f"the token file {self.path} is empty")
        return Credential(bearer(token), self.certificate)


class Credentials:
    """The credential in use. However many ask for a newer one at the same time, it is loaded once."""

    def __init__(self, source: CredentialSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self.held: Credential | None = None  # the last one loaded, whatever its age
        self._tried_at = 0.0
        self._loading: asyncio.Task[Credential] | None = None

    async def current(self) -> Credential:
        """The credential to use now."""
        if self.held is None or self._expired(self.held):
            return await self._reload()
        if self._is_old():
            try:
                return await self._reload()
            except CredentialsFailed as error:
                _log.warning("credentials not renewed, the old ones stay in use", error=str(error))
        return self.held

    async def after_refusal(self, refused: Credential) -> Credential:
        """What to use instead of a credential that was answered with 401; the same one when there is no other."""
        if self.held is not None and self.held is not refused:
            return self.held
        return await self._reload()

    def _expired(self, held: Credential) -> bool:
        return held.expires_at is not None and self._clock.now() >= held.expires_at

    def _is_old(self) -> bool:
        most = self._source.reload_seconds
        return most is not None and self._clock.monotonic() - self._tried_at >= most

    async def _reload(self) -> Credential:
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
            self._loading.add_done_callback(self._loaded)
        return await asyncio.shield(self._loading)

    async def _load(self) -> Credential:
        self._tried_at = self._clock.monotonic()
        self.held = await self._source.load()
        return self.held

    def _loaded(self, task: asyncio.Task[Credential]) -> None:
        self._loading = None
        if not task.cancelled():
            task.exception()  # everyone who waited may have been cancelled; it must count as seen


class AuthenticatedTransport:
    """Puts credentials on each request. An answer of 401 renews them and sends the request once more: it was refused
    before anything was done, so this is safe for writes too."""

    def __init__(self, inner: Transport, credentials: Credentials) -> None:
        self._inner = inner
        self._credentials = credentials

    async def send(self, request: Request) -> Response:
        credential = await self._credentials.current()
        response = await self._inner.send(_with(request, credential))
        if response.status != 401:
            return response
        try:
            newer = await self._credentials.after_refusal(credential)
        except BaseException:
            await response.close()
            raise
        if newer == credential:
            return response
        await response.close()
        return await self._inner.send(_with(request, newer))


def _with(request: Request, credential: Credential) -> Request:
    if not credential.authorization:
        return request
    headers = {**request.headers, "authorization": credential.authorization}
    # Runs for each request: `dataclasses.replace` takes several times as long.
    return Request(request.method, request.path, request.query, headers, request.body, request.timeout_seconds)
