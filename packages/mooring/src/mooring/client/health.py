"""The smallest worker: it only answers health checks. `python -m mooring.client.health [--port 8000]`."""

import argparse
import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def answering_health(address: str, port: int, body: Callable[[], str]) -> AsyncIterator[asyncio.Server]:
    """Answer `GET /healthz` with the result of `body`, for the time of the block."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readline()
            while (await reader.readline()).strip():
                pass
            found = request.split(b" ")[1:2] == [b"/healthz"]
            status, text = (b"200 OK", body().encode()) if found else (b"404 Not Found", b"no such page\n")
            head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(text))
            writer.write(head + text)
            await writer.drain()
        except ConnectionError:
            pass  # the checker closed the connection; it checks again later
        finally:
            writer.close()

    server = await asyncio.start_server(answer, address, port)
    try:
        yield server
    finally:
        server.close()


async def serve_health(address: str, port: int) -> None:
    """Answer until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with answering_health(address, port, lambda: '{"executing": false, "sessions": 0}\n'):
        print(f"healthy at {address}:{port}", flush=True)
        await stopped.wait()
    print("stopped by SIGTERM", flush=True)


def main() -> None:
    """Serve on the address of the pod."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    port: int = parser.parse_args().port
    asyncio.run(serve_health(os.environ.get("POD_IP", "127.0.0.1"), port))


if __name__ == "__main__":
    main()
