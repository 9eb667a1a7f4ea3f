"""What an operation of the SDK needs from its surroundings: requests, pauses, and work in the background.

Each operation is written once, as a coroutine over a `Runtime`. The asyncio runtime suspends it where it waits. The
blocking runtime blocks the thread there instead, so the coroutine never suspends. docs/adr/0010 says why.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from hawser.clock import Clock, Entropy

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Event(Protocol):
    """Is set once. `set` and `is_set` may be called from any thread."""

    def set(self) -> None: ...

    def is_set(self) -> bool: ...

    async def wait(self, seconds: float) -> bool:
        """Wait for the event at most this long; returns whether it is set."""
        ...


class BackgroundWork(Protocol[T_co]):
    """A coroutine that runs beside its caller."""

    async def wait(self, seconds: float) -> bool:
        """Wait at most this long; returns whether the work has ended."""
        ...

    def result(self) -> T_co:
        """What the work returned or raised; only after its end."""
        ...

    def cancel(self) -> None:
        """The result is no longer needed. A blocking runtime lets the work run to its end."""
        ...


class Runtime(Protocol):
    """Time, requests and background work for one Mooring."""

    @property
    def clock(self) -> Clock: ...

    @property
    def entropy(self) -> Entropy: ...

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        """Decoded JSON of the answer, None for an empty one; raises `RemoteError`. Requests are never repeated."""
        ...

    def lines(self, path: str, silence_seconds: float) -> AsyncGenerator[str, None]:
        """The lines of a stream, until it ends; raises `RemoteError`, also after so many seconds without a byte."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def make_event(self) -> Event: ...

    def start(self, work: Coroutine[Any, Any, T], name: str) -> BackgroundWork[T]: ...

    def in_thread(self, call: Callable[[], T], name: str) -> BackgroundWork[T]:
        """A call that blocks, in a thread of its own."""
        ...
