"""A small web service with an OpenAPI document: `python -m mooring.demo.tides [--port 8080]`."""

import argparse
import asyncio
import json
import math
import os
import signal
from http import HTTPStatus
from typing import Any

HARBOURS = {"aberdeen": 3.7, "brest": 6.1, "cuxhaven": 2.9}  # tidal range in metres
_TIDE = {
    "type": "object",
    "required": ["harbour", "hour", "metres"],
    "properties": {
        "harbour": {"type": "string"},
        "hour": {"type": "integer", "description": "of the tidal day, 0 to 24"},
        "metres": {"type": "number", "description": "above low water"},
    },
}


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": description, "content": {"application/json": {"schema": schema}}}}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Tides", "version": "1.0", "description": "How high the water stands in three harbours."},
    "paths": {
        "/harbours": {
            "get": {
                "tags": ["harbours"],
                "summary": "All harbours",
                "responses": _answer("their names", {"type": "array", "items": {"type": "string"}}),
            }
        },
        "/tides/{harbour}": {
            "get": {
                "tags": ["tides"],
                "summary": "The tide at an hour",
                "parameters": [
                    {"name": "harbour", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "hour", "in": "query", "schema": {"type": "integer"}, "description": "0 to 24"},
                ],
                "responses": {
                    **_answer("the tide", {"$ref": "#/components/schemas/Tide"}),
                    "404": {"description": "no such harbour"},
                },
            }
        },
    },
    "components": {"schemas": {"Tide": _TIDE}},
}


def answer(target: str) -> tuple[HTTPStatus, object]:
    """The answer to a GET of that path."""
    path, _, query = target.partition("?")
    if path == "/openapi.json":
        return HTTPStatus.OK, DOCUMENT
    if path == "/harbours":
        return HTTPStatus.OK, sorted(HARBOURS)
    harbour = path.removeprefix("/tides/")
    if path.startswith("/tides/") and harbour in HARBOURS:
        asked = dict(pair.partition("=")[::2] for pair in query.split("&")).get("hour", "")
        hour = int(asked) % 25 if asked.isdigit() else 0
        metres = HARBOURS[harbour] * (1 - math.cos(hour / 12.42 * 2 * math.pi)) / 2
        return HTTPStatus.OK, {"harbour": harbour, "hour": hour, "metres": round(metres, 2)}
    return HTTPStatus.NOT_FOUND, {"message": f"there is nothing at {path}"}


async def _serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        request = (await reader.readline()).decode("latin-1").split(" ")
        while (await reader.readline()).strip():
            pass
        method, target = (request[0], request[1]) if len(request) == 3 else ("", "")
        status, found = answer(target) if method == "GET" else (HTTPStatus.METHOD_NOT_ALLOWED, {"message": "only GET"})
        body = json.dumps(found).encode()
        head = f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
    except ConnectionError:
        pass  # the client disconnected
    finally:
        writer.close()


async def serve(address: str, port: int) -> None:
    """Serve until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with await asyncio.start_server(_serve_one, address, port):
        print(f"tides: listening on {address} port {port}", flush=True)
        await stopped.wait()


def main() -> None:
    """Serve on the pod's own address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    port: int = parser.parse_args().port
    asyncio.run(serve(os.environ.get("POD_IP", "127.0.0.1"), port))


if __name__ == "__main__":
    main()
