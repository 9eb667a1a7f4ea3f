"""Blocking calls beside an event loop, in threads that nobody waits for when the process ends."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_daemon_thread(call: Callable[[], T]) -> "asyncio.Future[T]":
    """What the call answers or raises. Unlike an executor's, its thread does not hold up the end of the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(answer: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer)  # type: ignore[arg-type]

    def run() -> None:
        answer: T | None = None
        failure: BaseException | None = None
        try:
            answer = call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, answer, failure)

    threading.Thread(target=run, daemon=True).start()
    return future
