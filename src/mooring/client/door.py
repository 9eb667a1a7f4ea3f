"""The door of a worker that is spoken to directly: lets sessions in, and after SIGTERM waits for the last to leave.

door = Door()
door.close_on_sigterm()
with door.session(): ...        # raises `Closed` once the worker drains: answer 410
door.describe()                 # what to answer to a health check
door.wait_empty()               # then exit with 0
"""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Closed(Exception):
    """The worker drains: it takes no more sessions."""


class Door:
    """Counts who is in. May be used from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sessions = 0
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether the worker takes no more sessions."""
        return self._closed.is_set()

    @contextmanager
    def session(self) -> Iterator[None]:
        """For the time of one session."""
        with self._changed:
            if self.closed:
                raise Closed("the worker drains: it takes no more sessions")
            self._sessions += 1
        try:
            yield
        finally:
            with self._changed:
                self._sessions -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Take no more sessions. Takes no lock, as a signal may come while this thread holds it."""
        self._closed.set()

    def close_on_sigterm(self) -> None:
        """Only in the main thread, as Python has it."""
        signal.signal(signal.SIGTERM, lambda *_: self.close())

    def wait_empty(self, timeout_seconds: float | None = None) -> bool:
        """Until it is closed and the last session has left; False when that took too long."""
        self._closed.wait(timeout_seconds)
        with self._changed:
            return self.closed and self._changed.wait_for(lambda: self._sessions == 0, timeout_seconds)

    def describe(self) -> str:
        """The worker's own word, for its health check."""
        with self._changed:
            sessions = self._sessions
        return json.dumps({"executing": sessions > 0, "sessions": sessions, "draining": self.closed})
