"""The transport over the network: aiohttp, without any of its kindnesses.

It does not retry, follow redirects, keep cookies or take proxies from the environment. Long answers come gzipped:
measured on 2,000 pods over TLS, unpacking takes half the CPU of decrypting what it saves (0.18 s against 0.34 s).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from hawser.errors import ConnectionFailed
from hawser.tls import ClientCertificate, Trust, client_context
from hawser.transport import Request, Response

_IDLE_SECONDS = 30.0  # less than servers and load balancers allow, so that it is we who close an idle connection
_READ_BUFFER_BYTES = 1 << 18
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


def no_certificate() -> ClientCertificate | None:
    """For those who authenticate otherwise."""
    return None


class HttpTransport:
    """Connections to one API server. At most `requests_at_once` wait for answers; open watches do not count. A burst
    over hundreds of new TLS connections takes longer than the same burst in turns over a few dozen.

    `certificate` is asked before each request: after it has changed new requests go over new connections, and those
    under way end over the old ones."""

    def __init__(
        self,
        server: str,
        *,
        trust: Trust = Trust(),
        certificate: Callable[[], ClientCertificate | None] = no_certificate,
        requests_at_once: int = 64,
    ) -> None:
        self._server = server.rstrip("/")
        self._trust = trust
        self._certificate = certificate
        self._turns = asyncio.Semaphore(requests_at_once)
        self._pool: _Pool | None = None
        self._retired: set[_Pool] = set()

    async def send(self, request: Request) -> Response:
        certificate = self._certificate()
        pool, old = self._pool, None
        if pool is None or pool.certificate != certificate:
            old, pool = pool, _Pool(self._server, self._trust, certificate, self._turns)
            self._pool = pool
        if old is not None:
            self._retired = {retired for retired in self._retired if retired.under_way} | {old}
            await old.retire()
        return await pool.send(request)

    async def close(self) -> None:
        """Drops every connection."""
        pools = [*self._retired, *([self._pool] if self._pool else [])]
        self._retired, self._pool = set(), None
        for pool in pools:
            await pool.close()


class _Pool:
    """The connections made with one certificate."""

    def __init__(
        self, server: str, trust: Trust, certificate: ClientCertificate | None, turns: asyncio.Semaphore
    ) -> None:
        self.certificate = certificate
        self.under_way = 0
        self._server = server
        self._server_name = trust.server_name or None
        self._turns = turns
        self._retired = False
        connector = aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=_IDLE_SECONDS,
            ssl=client_context(trust, certificate) if server.startswith("https:") else True,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_NO_TIMEOUT,
            trust_env=False,
            read_bufsize=_READ_BUFFER_BYTES,
            headers={"accept-encoding": "gzip"},
            skip_auto_headers=("content-type",),
            middlewares=(_no_hidden_retry,),
        )

    async def send(self, request: Request) -> Response:
        deadline = None
        if request.timeout_seconds is not None:
            deadline = asyncio.get_running_loop().time() + request.timeout_seconds
        visit = _Visit(self, None if _is_stream(request) else self._turns)
        try:
            async with asyncio.timeout_at(deadline):
                await visit.begin()
                visit.answer = answer = await self._session.request(
                    request.method,
                    self._url(request),
                    data=request.body,
                    headers=request.headers,
                    allow_redirects=False,
                    server_hostname=self._server_name,
                )
        except (aiohttp.ClientError, OSError) as error:
            await visit.end()
            raise _failure(self._server, request, error) from error
        except BaseException:
            await visit.end()
            raise
        return _HttpResponse(answer, _Body(self._server, request, answer), visit.end, deadline)

    def _url(self, request: Request) -> URL:
        query = f"?{urlencode(request.query, quote_via=quote)}" if request.query else ""
        return URL(f"{self._server}{request.path}{query}", encoded=True)

    async def leave(self) -> None:
        """A request has ended."""
        self.under_way -= 1
        if self._retired and not self.under_way:
            await self.close()

    async def retire(self) -> None:
        """No more requests will come."""
        self._retired = True
        if not self.under_way:
            await self.close()

    async def close(self) -> None:
        await self._session.close()


class _Visit:
    """One request at a pool: from its turn to the end of its answer."""

    __slots__ = ("_holds_turn", "_over", "_pool", "_turns", "answer")

    def __init__(self, pool: _Pool, turns: asyncio.Semaphore | None) -> None:
        pool.under_way += 1
        self.answer: aiohttp.ClientResponse | None = None
        self._pool = pool
        self._turns = turns
        self._holds_turn = False
        self._over = False

    async def begin(self) -> None:
        """Wait for a turn."""
        if self._turns is not None:
            await self._turns.acquire()
            self._holds_turn = True

    async def end(self) -> None:
        """Give back connection and turn, once. The connection is used again if the answer was read to its end."""
        if self._over:
            return
        self._over = True
        if self.answer is not None:
            self.answer.close()
        if self._turns is not None and self._holds_turn:
            self._turns.release()
        await self._pool.leave()


class _HttpResponse(Response):
    """An answer that has to come in time as a whole, when it is read as a whole."""

    __slots__ = ("_answer", "_deadline")

    def __init__(
        self,
        answer: aiohttp.ClientResponse,
        body: "_Body",
        close: Callable[[], Awaitable[None]],
        deadline: float | None,
    ) -> None:
        super().__init__(answer.status, {name.lower(): value for name, value in answer.headers.items()}, body, close)
        self._answer = answer
        self._deadline = deadline

    async def read(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await super().read()
        except TimeoutError as error:
            asked = f"{self._answer.method} {self._answer.url.origin()}{self._answer.url.path}"
            raise ConnectionFailed(f"{asked}: the answer began and did not end in time", fix=_FIX) from error


class _Body:
    """The chunks of an answer, as they come."""

    def __init__(self, server: str, request: Request, answer: aiohttp.ClientResponse) -> None:
        self._server = server
        self._request = request
        self._content = answer.content

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(self._server, self._request, error) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk


async def _no_hidden_retry(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    # aiohttp sends GET, PUT and DELETE again when a kept connection breaks, unless the error is of another class.
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        if isinstance(error, aiohttp.ClientConnectorError):
            raise
        raise aiohttp.ClientConnectionError(str(error)) from error


def _is_stream(request: Request) -> bool:
    return any(name in ("watch", "follow") for name, _ in request.query)


_FIX = "look whether the API server is up and reachable from here; after a write read back what happened"


def _failure(server: str, request: Request, error: Exception) -> ConnectionFailed:
    what = f"{request.method} {server}{request.path}"
    match error:
        case TimeoutError():
            return ConnectionFailed(f"{what}: no answer within {request.timeout_seconds} s", fix=_FIX)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return ConnectionFailed(
                f"{what}: no secure connection: {error}",
                fix="check the certificate authority, the server's name and the client certificate in the kubeconfig",
            )
        case _:
            return ConnectionFailed(f"{what}: {error or type(error).__name__}", fix=_FIX)
