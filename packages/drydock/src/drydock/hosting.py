"""An event loop in a thread of its own that keeps something open, such as a cluster, for callers without a loop.

Tests are such callers: each of them has its own event loop or none, and the cluster outlives them all.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")
Run = Callable[[Coroutine[Any, Any, None]], None]


class Host(Generic[T]):
    """What is kept open: `value`, and `run` for work in its event loop."""

    def __init__(self, value: T, loop: asyncio.AbstractEventLoop) -> None:
        self.value = value
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, R], timeout_seconds: float | None = None) -> R:
        """The result of the coroutine; `TimeoutError` where it takes too long, and it is cancelled."""
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result(timeout_seconds)
        except TimeoutError:
            running.cancel()
            raise


@contextmanager
def hosted(
    opening: Callable[[], AbstractAsyncContextManager[T]], name: str = "cluster", run: Run = asyncio.run
) -> Iterator[Host[T]]:
    """Open it when the block begins and close it when the block ends. What goes wrong there is raised here.

    `run` makes the event loop; `uvloop.run` is another.
    """
    keeper = _Keeper(opening, run)
    thread = threading.Thread(target=keeper.work, name=name)
    thread.start()
    try:
        yield keeper.await_start()
    finally:
        keeper.stop()
        thread.join()
    if keeper.failure is not None:
        raise keeper.failure


class _Keeper(Generic[T]):
    """The thread's side."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]], run: Run) -> None:
        self._run = run
        self.failure: BaseException | None = None
        self._opening = opening
        self._started = threading.Event()
        self._host: Host[T] | None = None
        self._end: Callable[[], None] = lambda: None

    def work(self) -> None:
        try:
            self._run(self._keep())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that opened it
            self.failure = error
        finally:
            self._started.set()

    def await_start(self) -> Host[T]:
        self._started.wait()
        if self._host is None:
            failure, self.failure = self.failure, None
            raise failure or RuntimeError("it ended before it was open")
        return self._host

    def stop(self) -> None:
        self._end()

    async def _keep(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        async with self._opening() as value:
            self._host = Host(value, loop)
            self._end = lambda: None if loop.is_closed() else _signal(loop, stop)
            self._started.set()
            await stop.wait()


def _signal(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:  # closed between our look and the call: it has ended by itself
        if not loop.is_closed():
            raise
