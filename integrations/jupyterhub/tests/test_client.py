"""The client of the demo against a hub that answers before a server has started, as a busy one does."""

import json

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mooring_jupyterhub.demo.client import HubClient
from mooring_jupyterhub.demo.drain import play

pytestmark = pytest.mark.realtime


async def start_server(*events):
    """On a hub that takes longer than it lets callers wait, and then reports these events."""

    async def create(request):
        return web.Response(status=201)

    async def accept(request):
        return web.Response(status=202)

    async def describe(request):
        return web.json_response({"servers": {}})

    async def report(request):
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        for event in events:
            await stream.write(b"\n\ndata: " + json.dumps(event).encode() + b"\n\n")
        return stream

    hub = web.Application()
    hub.router.add_post("/hub/api/users/noether", create)
    hub.router.add_post("/hub/api/users/noether/server", accept)
    hub.router.add_get("/hub/api/users/noether", describe)
    hub.router.add_get("/hub/api/users/noether/server/progress", report)
    async with TestServer(hub) as server, HubClient(f"http://127.0.0.1:{server.port}", "token") as client:
        return await client.start_server("noether")


async def test_a_start_that_fails_after_the_answer_says_why():
    with pytest.raises(RuntimeError, match="exit code 1"):
        await start_server({"message": "Claiming"}, {"failed": True, "message": "Spawn failed: exit code 1"})


async def test_a_start_that_takes_long_succeeds():
    assert await start_server({"message": "Claiming"}, {"ready": True, "message": "Server ready"}) >= 0


async def test_a_hub_that_stops_in_between_is_an_error():
    with pytest.raises(RuntimeError, match="stopped reporting on the server of noether"):
        await start_server({"message": "Claiming"})


async def test_a_drain_before_the_demo_was_started_says_what_to_start(tmp_path):
    with pytest.raises(SystemExit, match=r"no hub was started in .*; start it with"):
        await play(tmp_path, seconds=1)
