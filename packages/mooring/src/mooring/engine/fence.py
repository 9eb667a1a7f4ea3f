"""What a replica writes as the leader gets out only while it leads under the term in which the decision was made.

A pass may outlive the leadership it began with: it waits for an answer, or for its turn after a 429, or its process was
stopped for a while. Requests from people and programs are served by every replica and are not fenced.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hawser.transport import Request, Response, Transport
from mooring.model.errors import StaleEpoch

_ACTING_TERM: ContextVar[int | None] = ContextVar("acting_term", default=None)
_READING = frozenset({"GET", "HEAD"})


@contextmanager
def acting(term: int) -> Iterator[None]:
    """What is written inside is written by the leader of this term."""
    token = _ACTING_TERM.set(term)
    try:
        yield
    finally:
        _ACTING_TERM.reset(token)


class FencedTransport:
    """Around another transport: refuses writes of a term that is over."""

    def __init__(self, inner: Transport, term: Callable[[], int]) -> None:
        self._inner = inner
        self._term = term

    async def send(self, request: Request) -> Response:
        acting_term = _ACTING_TERM.get()
        if acting_term is not None and request.method not in _READING and self._term() != acting_term:
            raise StaleEpoch(
                f"{request.method} {request.path} was not sent: this replica does not lead any more",
                fix="the replica that leads now decides anew",
            )
        return await self._inner.send(request)
