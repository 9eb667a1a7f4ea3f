"""The runtime of the asyncio SDK: aiohttp and tasks. aiohttp is imported with the first request."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any, Generic, TypeVar

from hawser.clock import Clock, Entropy, SystemClock
from mooring.client.connection import Endpoint, read_answer
from mooring.client.daemon_thread import start_daemon_thread
from mooring.client.errors import read_error

T = TypeVar("T")


class AsyncioRuntime:
    """Holds nothing open between requests: it may be created outside of a loop, and dropped without closing."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.clock: Clock = SystemClock()
        self.entropy = Entropy()
        self._tasks: set[asyncio.Task[Any]] = set()  # the loop itself has only weak references

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        import aiohttp
        from yarl import URL

        # A kept connection may be closed by the server just when a renewal is sent on it, so none is kept.
        connector = aiohttp.TCPConnector(force_close=True, ssl=self._endpoint.tls or True)
        headers = self._endpoint.headers
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        target = URL(self._endpoint.target(path, query), encoded=True)
        try:
            async with (
                aiohttp.ClientSession(headers=headers, connector=connector, timeout=timeout) as session,
                session.request(method, target, json=body, allow_redirects=False) as answer,
            ):
                payload = await answer.read()
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise self._endpoint.unreachable(error) from error
        return read_answer(answer.status, payload)

    async def lines(self, path: str, silence_seconds: float) -> AsyncGenerator[str, None]:
        import aiohttp
        from yarl import URL

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=silence_seconds, sock_read=silence_seconds)
        target = URL(self._endpoint.target(path), encoded=True)
        try:
            connector = aiohttp.TCPConnector(force_close=True, ssl=self._endpoint.tls or True)
            async with (
                aiohttp.ClientSession(headers=self._endpoint.headers, connector=connector, timeout=timeout) as session,
                session.get(target, allow_redirects=False) as answer,
            ):
                if answer.status >= 400:
                    raise read_error(answer.status, await answer.read())
                async for raw in answer.content:
                    yield raw.decode("utf-8", "replace").rstrip("\n")
        except (aiohttp.ClientError, OSError, ValueError) as error:  # a line that is too long is a ValueError
            raise self._endpoint.unreachable(error) from error

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    def make_event(self) -> "LoopEvent":
        return LoopEvent()

    def start(self, work: Coroutine[Any, Any, T], name: str) -> "TaskWork[T]":
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return TaskWork(task)

    def in_thread(self, call: Callable[[], T], name: str) -> "TaskWork[T]":
        return TaskWork(asyncio.wrap_future(start_daemon_thread(call, name)))


class LoopEvent:
    """`asyncio.Event` that may also be set from a thread: `check()` is often called in one."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._is_set = False

    def set(self) -> None:
        self._is_set = True
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
            self._loop.call_soon_threadsafe(self._event.set)

    def is_set(self) -> bool:
        return self._is_set

    async def wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            pass
        return self._is_set


class TaskWork(Generic[T]):
    """A coroutine that a task runs, or a call in a thread."""

    def __init__(self, task: "asyncio.Future[T]") -> None:
        self._task = task

    async def wait(self, seconds: float) -> bool:
        return bool((await asyncio.wait({self._task}, timeout=seconds))[0])

    def result(self) -> T:
        return self._task.result()

    def cancel(self) -> None:
        if not self._task.cancel() and not self._task.cancelled():
            self._task.exception()  # marks it as seen: the caller gave up, nobody will read it
