"""Blocking calls in daemon threads. Unlike an executor's threads, they do not delay the end of the process."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def start_daemon_thread(call: Callable[[], T], name: str) -> "Future[T]":
    """Run the call in a thread of its own; the future has what it returns or raises."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is read
            future.set_exception(error)

    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled: the thread always sets a result
    threading.Thread(target=run, name=name, daemon=True).start()
    return future
