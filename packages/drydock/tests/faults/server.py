"""A server to meet faults on the way to, and the ways of a test to it."""

from collections.abc import AsyncGenerator

from drydock.faults import (
    FaultyTransport,
    Plan,
    Process,
    Rule,
)
from drydock.virtual.loop import VirtualLoop
from hawser.clock import Entropy
from hawser.transport import Request, Response

PODS = "/api/v1/namespaces/default/pods"


GET = Request("GET", PODS + "/a")


POST = Request("POST", PODS, body=b"{}")


WATCH = Request("GET", PODS, query=(("watch", "1"),))


class Server:
    """Answers with a count of the requests it carried out; a watch gives the events it is handed."""

    def __init__(self) -> None:
        self.seen: list[Request] = []
        self.events: list[tuple[float, bytes]] = []
        self.body = b""
        self.closed = 0

    async def send(self, request: Request) -> Response:
        self.seen.append(request)

        async def close() -> None:
            self.closed += 1

        if ("watch", "1") in request.query:
            return Response(200, {}, self._stream(), close)
        return Response(200, {}, self._once(self.body or str(len(self.seen)).encode()), close)

    async def _once(self, body: bytes) -> AsyncGenerator[bytes, None]:
        yield body

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        clock = VirtualLoop.running().clock
        for at, line in self.events:
            await clock.sleep(max(0.0, at - clock.monotonic()))
            yield line


def faulty(server: Server, *rules: Rule, process: Process | None = None) -> FaultyTransport:
    return FaultyTransport(server, Plan(rules), VirtualLoop.running().clock, Entropy(5), process or Process())


def now() -> float:
    return VirtualLoop.running().time()


async def lines_read(response: Response) -> list[bytes]:
    lines = [line async for line in response]
    await response.close()
    return lines
