"""Leaving HTTP: what a client offers to speak instead, and the answer that accepts it. No sockets."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from drydock.streaming.carrier import Carrier
from hawser.errors import HawserError
from hawser.transport import Response

WEBSOCKET = "websocket"
SPDY = "SPDY/3.1"
TUNNEL_PREFIX = "SPDY/3.1+"  # SPDY inside the messages of a WebSocket
_NEGOTIATED = {WEBSOCKET: "sec-websocket-protocol", SPDY: "x-stream-protocol-version"}


class UpgradeRefused(HawserError):
    """The request cannot become streams."""

    code = "upgrade_refused"


@dataclass(frozen=True, slots=True)
class Offer:
    """What the client wants to leave HTTP for, and what it can speak there, best first."""

    scheme: str
    protocols: tuple[str, ...]


class Upgrade(Response):
    """An answer that is a conversation: the HTTP server sends 101 and calls `serve` with the connection."""

    __slots__ = ("protocol", "scheme", "serve")

    def __init__(self, scheme: str, protocol: str, serve: Callable[[Carrier], Awaitable[None]]) -> None:
        super().__init__(101, {"connection": "Upgrade", "upgrade": scheme, _NEGOTIATED[scheme]: protocol}, _nothing())
        self.scheme = scheme
        self.protocol = protocol
        self.serve = serve


def read_offer(headers: Mapping[str, str]) -> Offer:
    """What a request offers; raises `UpgradeRefused` when it is an ordinary one. Header names are in lower case."""
    wanted = headers.get("upgrade", "")
    if "upgrade" in headers.get("connection", "").lower():
        for scheme, header in _NEGOTIATED.items():
            if wanted.lower() == scheme.lower():
                words = (word.strip() for word in headers.get(header, "").split(","))
                return Offer(scheme, tuple(word for word in words if word))
    raise UpgradeRefused("Upgrade request required")


def negotiate(offer: Offer, spoken: Mapping[str, Sequence[str]]) -> str:
    """The first protocol of the offer that is spoken here, by scheme; raises `UpgradeRefused` naming those that are."""
    known = spoken[offer.scheme]
    for protocol in offer.protocols:
        if protocol in known:
            return protocol
    told = f"unable to negotiate protocol: client supports {list(offer.protocols)}, server accepts {list(known)}"
    raise UpgradeRefused(told)


async def _nothing() -> AsyncIterator[bytes]:
    for chunk in list[bytes]():
        yield chunk
