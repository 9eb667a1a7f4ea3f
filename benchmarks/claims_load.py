"""The clients of `claims.py`, in a separate process that uses as little CPU as possible.

Reads one job a line (JSON) from standard input and answers each with one line: the latencies, and the total time.
Requests are prepared bytes, sent over kept connections without an HTTP library, because the clients share the CPU with
what is measured. Imports nothing of Mooring. A bare claim has the row, the patch and the row again of a claim, from
here: what is left of a claim without Mooring.
"""

import asyncio
import functools
import itertools
import json
import random
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from benchmarks.bare_ledger import BareLedger

BARE_AT_ONCE = 32  # bare claims under way: more would wait in the API server
CLAIM = json.dumps({"owner": "bench", "ttlSeconds": 3600, "wait": 30}).encode()
STAMP = {
    "labels": {"bench.dev/owner": "bench", "bench.dev/busy": "true"},
    "annotations": {
        "bench.dev/claim": "0" * 36,
        "bench.dev/stamped-at": "2026-01-01T00:00:00.000000Z",
        "bench.dev/do-not-disrupt": "true",
        "bench.dev/safe-to-evict": "false",
    },
}


class Connection(asyncio.Protocol):
    """One kept HTTP/1.1 connection: one request at a time, bodies with a length or in chunks."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._received = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """The status and the body of the response."""
        self._received.clear()
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0 or self._answer is None:
            return
        head = bytes(self._received[:head_end]).lower()
        body = _body(head, bytes(self._received[head_end + 4 :]))
        if body is not None:
            answer, self._answer = self._answer, None
            answer.set_result((int(head[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self._answer is not None:
            self._answer.set_exception(exc or ConnectionError("the server closed the connection"))


def _body(head: bytes, rest: bytes) -> bytes | None:
    """The body, or None if it is not complete yet."""
    at = head.find(b"content-length: ")
    if at >= 0:
        end = head.find(b"\r\n", at)
        length = int(head[at + 16 : end if end > 0 else None])
        return rest if len(rest) >= length else None
    return rest if rest.endswith(b"0\r\n\r\n") else None


class Server:
    """Connections to one address, each used for one request at a time."""

    def __init__(self, host: str, port: int, token: str, tls: ssl.SSLContext | None) -> None:
        self._where = (host, port)
        self._tls = tls
        self._head = f"host: {host}:{port}\r\nauthorization: Bearer {token}\r\nuser-agent: bench\r\n"
        self._free: list[Connection] = []

    def request(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> bytes:
        """A whole request as bytes."""
        head = f"{method} {path} HTTP/1.1\r\n{self._head}content-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
        return head.encode() + body

    async def open(self, count: int) -> None:
        """Open connections before the measurement, so that no measured request has to."""
        self._free = [connection for connection in self._free if not connection.closed]  # idle for too long
        while len(self._free) < count:
            self._free.append(await self._connect())

    async def ask(self, request: bytes, expected: int) -> bytes:
        connection = self._free.pop() if self._free else await self._connect()
        status, body = await connection.ask(request)
        self._free.append(connection)
        assert status == expected, (status, body)
        return body

    async def _connect(self) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(Connection, *self._where, ssl=self._tls)
        return connection


class Clients:
    """The jobs, by kind."""

    def __init__(self, given: dict[str, Any]) -> None:
        tls = ssl.create_default_context(cafile=given["authority"])
        self._kubernetes = Server("127.0.0.1", given["kubernetes_port"], given["kubernetes_token"], tls)
        token = given["mooring_token"]
        self._replicas = [Server("127.0.0.1", port, token, None) for port in given["mooring_ports"]]
        self._asked = self._replicas  # those that the present job asks
        self._claims_path = given["claims_path"]
        self._pods_path = given["pods_path"]
        self._held: list[tuple[str, int]] = []  # claims and their epochs
        self._epochs = itertools.count(1)
        self._database = given["database"]
        self._bare: BareLedger | None = None
        self._bare_turns = asyncio.Semaphore(BARE_AT_ONCE)

    async def run(self, job: dict[str, Any]) -> list[float]:
        """The latencies of one job."""
        self._asked = self._replicas[: job.get("replicas", len(self._replicas))]
        self._turn = itertools.cycle(self._asked)
        match job["kind"]:
            case "patch":
                await self._kubernetes.open(job["clients"])
                return await in_flight(job["clients"], [self._patcher(name) for name in job["names"]])
            case "claim":
                await self._open(job["clients"])
                return await in_flight(job["clients"], [self._claim] * job["count"])
            case "cycle":
                await self._open(job["clients"])
                return await in_flight(job["clients"], [self._cycle] * job["count"])
            case "arrivals" | "claim arrivals":
                await self._open(20)
                visit = self._visit if job["kind"] == "arrivals" else self._claim
                return await arrivals(job["rate"], job["seconds"], itertools.repeat(visit))
            case "patch arrivals":
                await self._kubernetes.open(20)
                names = itertools.cycle(job["names"])
                return await arrivals(job["rate"], job["seconds"], map(self._patcher, names))
            case "bare":
                return await in_flight(job["clients"], await self._bare_claims(job["names"]))
            case "bare arrivals":
                return await arrivals(
                    job["rate"], job["seconds"], itertools.cycle(await self._bare_claims(job["names"]))
                )
            case "release":
                held, self._held = self._held, []
                return await in_flight(20, [lambda claim=claim: self._release(claim) for claim in held])
        raise ValueError(job)

    def _patcher(self, name: str) -> Callable[[], Awaitable[float]]:
        annotations = {
            **STAMP["annotations"],
            "bench.dev/epoch": str(next(self._epochs)),
        }  # every patch changes the pod
        body = json.dumps({"metadata": {**STAMP, "annotations": annotations}}).encode()
        kind = "application/merge-patch+json"
        request = self._kubernetes.request("PATCH", f"{self._pods_path}/{name}", body, kind)

        async def patch() -> float:
            started = time.perf_counter()
            await self._kubernetes.ask(request, 200)
            return time.perf_counter() - started

        return patch

    async def _bare_claims(self, names: list[str]) -> list[Callable[[], Awaitable[float]]]:
        self._bare = self._bare or await BareLedger.open(self._database)
        await self._kubernetes.open(BARE_AT_ONCE)
        return [functools.partial(self._bare_claim, self._bare, name) for name in names]

    async def _bare_claim(self, ledger: BareLedger, name: str) -> float:
        started = time.perf_counter()
        async with self._bare_turns:
            claim = await ledger.begin(name)
            await self._patcher(name)()
            await ledger.start(claim)
        return time.perf_counter() - started

    async def _open(self, count: int) -> None:
        for replica in self._asked:
            await replica.open(count)

    def collisions(self) -> int:
        """Epochs that no claim got: an insert on a slot that another replica had taken uses one up."""
        epochs = [epoch for _, epoch in self._held]
        return max(epochs) - min(epochs) + 1 - len(epochs) if epochs else 0

    async def _claim(self) -> float:
        replica = next(self._turn)
        request = replica.request("POST", self._claims_path, CLAIM)
        started = time.perf_counter()
        body = await replica.ask(request, 201)
        latency = time.perf_counter() - started
        claim = json.loads(body)
        self._held.append((claim["id"], claim["epoch"]))
        return latency

    async def _release(self, claim: tuple[str, int]) -> float:
        replica = next(self._turn)
        started = time.perf_counter()
        await replica.ask(replica.request("DELETE", "/v1/claims/{}?epoch={}".format(*claim)), 200)
        return time.perf_counter() - started

    async def _cycle(self) -> float:
        latency = await self._claim()
        await self._release(self._held.pop())
        return latency

    async def _visit(self) -> float:
        """A claim that is released one second after it was served."""
        latency = await self._claim()
        claim = self._held.pop()
        await asyncio.sleep(1)
        await self._release(claim)
        return latency


async def arrivals(rate: float, seconds: float, work: Iterator[Callable[[], Awaitable[float]]]) -> list[float]:
    """Poisson arrivals in an open loop: they do not wait for each other."""
    chance = random.Random(45)
    visits = []
    due = time.perf_counter()
    ends = due + seconds
    while due < ends:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        visits.append(asyncio.ensure_future(next(work)()))
        due += chance.expovariate(rate)
    return list(await asyncio.gather(*visits))


async def in_flight(limit: int, work: Iterable[Callable[[], Awaitable[float]]]) -> list[float]:
    """Run everything, `limit` at once."""
    left = iter(work)
    latencies: list[float] = []

    async def client() -> None:
        for one in left:
            latencies.append(await one())

    await asyncio.gather(*(client() for _ in range(limit)))
    return latencies


async def main() -> None:
    """Read jobs and write latencies until the input ends."""
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    clients = Clients(json.loads(await reader.readline()))
    while line := await reader.readline():
        started = time.perf_counter()
        latencies = await clients.run(json.loads(line))
        answer = {"latencies": latencies, "wall": time.perf_counter() - started, "collisions": clients.collisions()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
