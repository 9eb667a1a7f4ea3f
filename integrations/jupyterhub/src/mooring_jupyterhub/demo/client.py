"""A user without a browser: starts a server through the hub's API and runs cells over the proxy's websocket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import quote

import aiohttp

from hawser.clock import Entropy, SystemClock

READY_SECONDS = 60.0
_LOOK_SECONDS = 0.05


class HubClient:
    """The API of one hub, through its proxy."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._session = aiohttp.ClientSession(headers={"Authorization": f"token {token}"})
        self._clock = SystemClock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def wait_up(self, has_ended: Callable[[], bool]) -> None:
        """Wait until the hub answers through the proxy."""
        async with asyncio.timeout(READY_SECONDS):
            while not await self._is_up():
                if has_ended():
                    raise RuntimeError("the hub ended while it started")
                await self._clock.sleep(_LOOK_SECONDS * 4)

    async def start_server(self, user: str) -> float:
        """Start a user's server; returns after how many seconds it answered."""
        began = self._clock.monotonic()
        await self._call("POST", f"/hub/api/users/{quote(user)}", expected=(201, 409))
        await self._call("POST", f"/hub/api/users/{quote(user)}/server", expected=(201, 202))
        async with asyncio.timeout(READY_SECONDS):
            await self._follow_start(user)
        return self._clock.monotonic() - began

    async def _follow_start(self, user: str) -> None:
        """Until the server is ready. Only this stream of the hub says why a start failed."""
        path = f"/hub/api/users/{quote(user)}/server/progress"
        async with self._session.get(self._url + path) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                if not line.startswith(b"data: "):
                    continue
                event = json.loads(line.removeprefix(b"data: "))
                if event.get("failed"):
                    raise RuntimeError(event["message"])
                if event.get("ready"):
                    return
        raise RuntimeError(f"the hub stopped reporting on the server of {user} before it was ready")

    async def stop_server(self, user: str) -> None:
        """Stop a user's server, as its user or a culler of idle servers does; returns when it has ended."""
        await self._call("DELETE", f"/hub/api/users/{quote(user)}/server", expected=(202, 204))
        async with asyncio.timeout(READY_SECONDS):
            while await self.server(user):
                await self._clock.sleep(_LOOK_SECONDS)

    async def server(self, user: str) -> dict[str, Any]:
        """A user's server as the hub sees it; empty if there is none."""
        found = await self._call("GET", f"/hub/api/users/{quote(user)}", expected=(200,))
        return dict(found["servers"].get("", {}))

    @asynccontextmanager
    async def kernel(self, user: str, kernel_id: str = "") -> AsyncIterator["Kernel"]:
        """A new kernel of a user's server, or one that it has."""
        base = f"/user/{quote(user)}/api/kernels"
        kernel_id = kernel_id or (await self._call("POST", base, expected=(201,)))["id"]
        async with self._session.ws_connect(f"{self._url}{base}/{kernel_id}/channels") as socket:
            yield Kernel(kernel_id, socket)

    async def _is_up(self) -> bool:
        try:
            async with self._session.get(f"{self._url}/hub/api/") as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    async def _call(self, method: str, path: str, expected: tuple[int, ...]) -> Any:
        async with self._session.request(method, self._url + path, json={} if method == "POST" else None) as answer:
            text = await answer.text()
            if answer.status not in expected:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]}")
            return json.loads(text) if text else None


class Kernel:
    """A kernel behind a websocket."""

    def __init__(self, kernel_id: str, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.id = kernel_id
        self._socket = socket

    async def run(self, code: str) -> str:
        """Run a cell; returns what it printed. Raises with the traceback if it failed."""
        number = Entropy().uuid()
        header = {"msg_id": number, "msg_type": "execute_request", "session": number, "username": "", "version": "5.3"}
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        await self._socket.send_json({**message, "buffers": []})
        printed: list[str] = []
        async for frame in self._socket:
            answer = frame.json()
            if answer["parent_header"].get("msg_id") != number:
                continue
            if answer["msg_type"] == "stream":
                printed.append(answer["content"]["text"])
            if answer["msg_type"] == "error":
                raise RuntimeError("\n".join(answer["content"]["traceback"]))
            if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
                return "".join(printed)
        raise ConnectionError("the websocket closed before the cell had ended")
