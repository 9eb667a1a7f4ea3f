"""The runtime of the blocking SDK: http.client and threads. Needs no event loop, and works inside a running one."""

import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

from hawser.clock import Clock, Entropy, SystemClock
from mooring.client.connection import Connection, Endpoint
from mooring.client.daemon_thread import start_daemon_thread

T = TypeVar("T")


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine over a `BlockingRuntime` to its end, in the calling thread.

    Everything it awaits blocks, so it never suspends. An exception in this thread, such as KeyboardInterrupt, is
    raised inside the coroutine, whose handlers run before the caller sees it.
    """
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise RuntimeError("the coroutine awaited something that is not part of the blocking runtime")


class BlockingRuntime:
    """Every request has a connection of its own, so threads may share a runtime."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._connection = Connection(endpoint)
        self.clock: Clock = SystemClock()
        self.entropy = Entropy()

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        return self._connection.request(method, path, query, body, timeout_seconds)

    async def lines(self, path: str, silence_seconds: float) -> AsyncGenerator[str, None]:
        for line in self._connection.lines(path, silence_seconds):
            yield line

    async def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds)

    def make_event(self) -> "ThreadEvent":
        return ThreadEvent()

    def start(self, work: Coroutine[Any, Any, T], name: str) -> "ThreadWork[T]":
        try:
            return ThreadWork(start_daemon_thread(lambda: complete(work), name))
        except RuntimeError:  # the process may not have another thread
            work.close()
            raise

    def in_thread(self, call: Callable[[], T], name: str) -> "ThreadWork[T]":
        return ThreadWork(start_daemon_thread(call, name))


class ThreadEvent:
    """`threading.Event`, awaited."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    async def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)


class ThreadWork(Generic[T]):
    """A coroutine that a daemon thread runs. The caller stays interruptible while it waits."""

    def __init__(self, future: "Future[T]") -> None:
        self._future = future

    async def wait(self, seconds: float) -> bool:
        return bool(wait({self._future}, seconds).done)

    def result(self) -> T:
        return self._future.result(0)

    def cancel(self) -> None:
        """A thread cannot be stopped from outside; its request ends with its own timeout."""
