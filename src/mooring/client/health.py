"""The smallest worker: answers its health check and waits. `python -m mooring.client.health [--port 8000]`."""

import argparse
import asyncio
import os
import signal


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        request = await reader.readline()
        while (await reader.readline()).strip():
            pass
        found = request.split(b" ")[1:2] == [b"/healthz"]
        status, body = (b"200 OK", b"ok\n") if found else (b"404 Not Found", b"no such page\n")
        writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()
    except ConnectionError:
        pass  # the checker hung up; it will ask again
    finally:
        writer.close()


async def serve_health(address: str, port: int) -> None:
    """Answer until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    server = await asyncio.start_server(_answer, address, port)
    print(f"healthy at {address}:{port}", flush=True)
    async with server:
        await stopped.wait()
    print("told to stop", flush=True)


def main() -> None:
    """Serve on the pod's own address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    port: int = parser.parse_args().port
    asyncio.run(serve_health(os.environ.get("POD_IP", "127.0.0.1"), port))


if __name__ == "__main__":
    main()
