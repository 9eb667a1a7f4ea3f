"""The connection below all streams, once HTTP has been left: bytes both ways."""

from typing import Protocol

from hawser.clock import Clock


class Carrier(Protocol):
    """A WebSocket carries messages: each `read` returns one and each `write` sends one. Other carriers cut anywhere."""

    async def read(self) -> bytes:
        """What has come; empty when the client has gone."""
        ...

    async def write(self, data: bytes) -> None:
        """Send; returns when the client keeps up. Raises `ConnectionResetError` when it has gone."""
        ...

    async def close(self) -> None:
        """End the connection after everything written has been sent."""
        ...


class Idleness:
    """How long nothing has gone through a conversation. Pings do not count: they come by themselves."""

    def __init__(self, clock: Clock, limit_seconds: float) -> None:
        self._clock = clock
        self._limit_seconds = limit_seconds
        self._used_at = clock.monotonic()

    def touch(self) -> None:
        """Something went through, either way."""
        self._used_at = self._clock.monotonic()

    async def wait(self) -> None:
        """Returns when nothing has for the limit."""
        while (left := self._used_at + self._limit_seconds - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
