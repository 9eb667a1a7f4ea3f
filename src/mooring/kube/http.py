"""The transport over the network: aiohttp, without any of its kindnesses.

It does not retry, follow redirects, keep cookies or take proxies from the environment. Answers come uncompressed:
on a local network gzip costs both sides more time than it saves.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from mooring.kube.errors import ConnectionFailed
from mooring.kube.tls import ClientCertificate, Trust, client_context
from mooring.kube.transport import Request, Response

_IDLE_SECONDS = 30.0  # less than servers and load balancers allow, so that it is we who close an idle connection
_READ_BUFFER_BYTES = 1 << 18
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


def no_certificate() -> ClientCertificate | None:
    """For those who authenticate otherwise."""
    return None


class HttpTransport:
    """Connections to one API server. The limit counts requests under way, open watches among them.

    `certificate` is asked before each request: after it has changed new requests go over new connections, and those
    under way end over the old ones."""

    def __init__(
        self,
        server: str,
        *,
        trust: Trust = Trust(),
        certificate: Callable[[], ClientCertificate | None] = no_certificate,
        connection_limit: int = 256,
    ) -> None:
        self._server = server.rstrip("/")
        self._trust = trust
        self._certificate = certificate
        self._limit = connection_limit
        self._pool: _Pool | None = None
        self._retired: set[_Pool] = set()

    async def send(self, request: Request) -> Response:
        certificate = self._certificate()
        pool, old = self._pool, None
        if pool is None or pool.certificate != certificate:
            old, pool = pool, _Pool(self._server, self._trust, certificate, self._limit)
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

    def __init__(self, server: str, trust: Trust, certificate: ClientCertificate | None, limit: int) -> None:
        self.certificate = certificate
        self._server = server
        self._server_name = trust.server_name or None
        self._retired = False
        self.under_way = 0
        connector = aiohttp.TCPConnector(
            limit=limit,
            keepalive_timeout=_IDLE_SECONDS,
            ssl=client_context(trust, certificate) if server.startswith("https:") else True,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_NO_TIMEOUT,
            trust_env=False,
            read_bufsize=_READ_BUFFER_BYTES,
            skip_auto_headers=("accept-encoding", "content-type"),
            middlewares=(_no_hidden_retry,),
        )

    async def send(self, request: Request) -> Response:
        deadline = None
        if request.timeout_seconds is not None:
            deadline = asyncio.get_running_loop().time() + request.timeout_seconds
        self.under_way += 1
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._session.request(
                    request.method,
                    self._url(request),
                    data=request.body,
                    headers=request.headers,
                    allow_redirects=False,
                    server_hostname=self._server_name,
                )
        except BaseException as error:
            await self.leave()
            if isinstance(error, (aiohttp.ClientError, OSError)):
                raise _failure(self._server, request, error) from error
            raise
        return _HttpResponse(self, answer, _Body(self._server, request, answer), deadline)

    def _url(self, request: Request) -> URL:
        query = f"?{urlencode(request.query, quote_via=quote)}" if request.query else ""
        return URL(f"{self._server}{request.path}{query}", encoded=True)

    async def leave(self) -> None:
        """One request is over."""
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


class _HttpResponse(Response):
    """An answer that is also read in time, when it is read as a whole."""

    __slots__ = ("_answer", "_deadline", "_pool")

    def __init__(self, pool: _Pool, answer: aiohttp.ClientResponse, body: "_Body", deadline: float | None) -> None:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        super().__init__(answer.status, headers, body, self._leave)
        self._answer: aiohttp.ClientResponse | None = answer
        self._pool = pool
        self._deadline = deadline

    async def read(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await super().read()
        except TimeoutError as error:
            raise ConnectionFailed("the answer began in time and did not end in time", fix=_FIX) from error

    async def _leave(self) -> None:
        if self._answer is not None:
            self._answer.close()  # a connection whose answer was read to its end has gone back to the pool by then
            self._answer = None
            await self._pool.leave()


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
