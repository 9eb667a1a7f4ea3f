"""An asyncio loop in a thread of its own: the SDK runs there, and the reactor of the master never waits for it."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure

T = TypeVar("T")


class LoopThread:
    """Started with the first call. All workers of a master share one: hundreds of waits cost one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine; may be called from any thread. Cancel the future to cancel the coroutine."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="mooring", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def defer(self, reactor: IReactorFromThreads, work: Coroutine[Any, Any, T]) -> "Deferred[T]":
        """The same for the reactor: the result arrives there."""
        deferred: Deferred[T] = Deferred()

        def deliver(done: "Future[T]") -> None:
            try:
                result = done.result()
            except BaseException as error:  # noqa: BLE001 - delivered, not swallowed
                reactor.callFromThread(deferred.errback, Failure(error))
            else:
                reactor.callFromThread(deferred.callback, result)

        self.start(work).add_done_callback(deliver)
        return deferred


LOOP = LoopThread()
