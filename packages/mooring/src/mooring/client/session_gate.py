"""Drains a worker that clients connect to: admits sessions until SIGTERM, then waits for the last one to end.

gate = SessionGate()
gate.close_on_sigterm()
with gate.session(): ...        # raises `Draining` once the gate is closed: answer 410
gate.describe()                 # body of the health check
gate.wait_drained()             # then exit with 0
"""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hawser.clock import SystemClock

_LOOK_SECONDS = 0.1


class Draining(Exception):
    """The worker takes no more sessions."""


class SessionGate:
    """Counts the sessions of a worker. May be used from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sessions = 0
        self._closed = False
        self._clock = SystemClock()

    @property
    def closed(self) -> bool:
        """Whether the worker takes no more sessions."""
        return self._closed

    @contextmanager
    def session(self) -> Iterator[None]:
        """Enter one session; raises `Draining` when the gate is closed."""
        with self._changed:
            if self.closed:
                raise Draining("the worker drains: it takes no more sessions")
            self._sessions += 1
        try:
            yield
        finally:
            with self._changed:
                self._sessions -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Take no more sessions.

        Takes no lock, neither one of ours nor that of a `threading.Event`: a signal handler may run while its own
        thread holds it.
        """
        self._closed = True

    def close_on_sigterm(self) -> None:
        """Install the signal handler. Python allows that in the main thread only."""
        signal.signal(signal.SIGTERM, lambda *_: self.close())

    def wait_drained(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the gate is closed and the last session has ended; False after the timeout."""
        began = self._clock.monotonic()
        with self._changed:
            while not (self._closed and self._sessions == 0):
                waited = self._clock.monotonic() - began
                if timeout_seconds is not None and waited >= timeout_seconds:
                    return False
                # In short turns: Python runs the handler of a signal that came just before a wait when the wait ends.
                self._changed.wait(
                    _LOOK_SECONDS if timeout_seconds is None else min(_LOOK_SECONDS, timeout_seconds - waited)
                )
        return True

    def describe(self) -> str:
        """Body of the health check."""
        with self._changed:
            sessions = self._sessions
        return json.dumps({"executing": sessions > 0, "sessions": sessions, "draining": self.closed})
