"""What can happen to a session. No I/O."""

from dataclasses import dataclass

from mooring_postgres_gateway.repetition import Loss
from mooring_postgres_gateway.wire.frames import Message


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker waits for the next exchange."""

    status: bytes


@dataclass(frozen=True, slots=True)
class Copying:
    """The worker waits for rows of the client."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The client has sent nothing for as long as it may."""


@dataclass(frozen=True, slots=True)
class Drain:
    """The gateway stops."""


Signal = Ready | Copying | Loss
Event = Message | Signal | Silence | Drain
