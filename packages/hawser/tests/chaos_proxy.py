"""An HTTP proxy on real sockets that does to list and watch what networks, balancers and overloaded servers do."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import msgspec
from aiohttp import web

from hawser.clock import Entropy

HEAD_FAULTS = ("refused", "500", "429", "503", "410", "slow answer", "hung answer")
LIST_FAULTS = ("list cut",)
LINE_FAULTS = ("repeated", "replayed", "late", "in pieces")
ENDINGS = ("broken", "cut inside a line", "410 in the stream", "silence", "clean end")
FAULTS = frozenset({*HEAD_FAULTS, *LIST_FAULTS, *LINE_FAULTS, *ENDINGS})

_WATCH_FAULT_CHANCE = 0.5
_LIST_FAULT_CHANCE = 0.1  # of each page, before and inside its answer
_LINE_FAULT_CHANCE = 0.03
_LONGEST_STREAM_LINES = 100
_HANG_SECONDS = 1.0


class ChaosProxy:
    """Passes requests on to `upstream`, faults among them until it is `calm`. `fired` counts them."""

    def __init__(self, upstream: str, tls: ssl.SSLContext | bool, entropy: Entropy) -> None:
        self.calm = False
        self.fired: Counter[str] = Counter()
        self._upstream = upstream
        self._tls = tls
        self._entropy = entropy

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Yields the proxy's address."""
        connector = aiohttp.TCPConnector(limit=0, ssl=self._tls)
        timeout = aiohttp.ClientTimeout(total=None)
        uncompressed = ("accept-encoding",)
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, skip_auto_headers=uncompressed
        ) as session:
            self._session = session
            runner = web.ServerRunner(
                web.Server(self._handle, handler_cancellation=True, access_log=None), shutdown_timeout=0.5
            )
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            try:
                yield f"http://127.0.0.1:{runner.addresses[0][1]}"
            finally:
                await runner.cleanup()

    def _chance(self, chance: float) -> bool:
        return not self.calm and self._entropy.fraction() < chance

    def _choose(self, faults: tuple[str, ...]) -> str:
        fault = min(faults, key=lambda fault: (self.fired[fault], self._entropy.fraction()))  # the rarest so far
        self.fired[fault] += 1
        return fault

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        watching = "watch" in request.query
        if self._chance(_WATCH_FAULT_CHANCE if watching else _LIST_FAULT_CHANCE):
            match self._choose(HEAD_FAULTS):
                case "refused":
                    return _abort(request)
                case "slow answer":
                    await asyncio.sleep(self._entropy.between(0, 1))
                case "hung answer":
                    await asyncio.sleep(_HANG_SECONDS)
                    return _abort(request)
                case code:
                    return _error(int(code))
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        url = f"{self._upstream}{request.path_qs}"
        async with self._session.get(url, headers=headers) as answer:
            if watching and answer.status == 200:
                return await self._stream(request, answer)
            return await self._whole(request, answer)

    async def _whole(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        body = await answer.read()
        out = web.StreamResponse(status=answer.status, headers={"content-type": answer.content_type})
        out.content_length = len(body)
        await out.prepare(request)
        if self._chance(_LIST_FAULT_CHANCE):
            self._choose(LIST_FAULTS)
            await out.write(body[: self._entropy.below(len(body))])
            return _abort(request)
        await out.write(body)
        return out

    async def _stream(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        out = web.StreamResponse(headers={"content-type": "application/json"})
        out.enable_chunked_encoding()
        await out.prepare(request)
        left = self._entropy.below(_LONGEST_STREAM_LINES)
        earlier: list[bytes] = []
        async for line in answer.content:
            if left == 0 and not self.calm:
                return await self._end(request, out, line)
            left -= 1
            await self._pass(out, line, earlier)
            earlier.append(line)
        return out

    async def _pass(self, out: web.StreamResponse, line: bytes, earlier: list[bytes]) -> None:
        if not self._chance(_LINE_FAULT_CHANCE):
            await out.write(line)
            return
        match self._choose(LINE_FAULTS):
            case "repeated":
                await out.write(line + line)
            case "replayed":
                again = earlier[self._entropy.below(len(earlier))] if earlier else b""
                await out.write(line + again)
            case "late":
                await asyncio.sleep(self._entropy.between(0, 0.2))
                await out.write(line)
            case "in pieces":
                cut = self._entropy.below(len(line))
                await out.write(line[:cut] or b"\n")
                await asyncio.sleep(0)
                await out.write(line[cut:])

    async def _end(self, request: web.BaseRequest, out: web.StreamResponse, line: bytes) -> web.StreamResponse:
        match self._choose(ENDINGS):
            case "broken":
                await out.write(line[: len(line) // 2])
                return _abort(request)
            case "cut inside a line":
                await out.write(line[: self._entropy.below(len(line) - 1) + 1])
            case "410 in the stream":
                status = {
                    "kind": "Status",
                    "status": "Failure",
                    "code": 410,
                    "reason": "Expired",
                    "message": "injected",
                }
                await out.write(msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n")
            case "silence":
                await asyncio.sleep(3600)  # cancelled when the client has had enough
        return out


def _abort(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _error(code: int) -> web.Response:
    headers = {"retry-after": "1"} if code in (429, 503) else {}
    status = {"kind": "Status", "status": "Failure", "code": code, "message": "injected"}
    return web.Response(body=msgspec.json.encode(status), status=code, headers=headers, content_type="application/json")
