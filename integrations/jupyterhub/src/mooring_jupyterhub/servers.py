"""A user's server as the hub remembers it, the names of its claims, and the messages for its user. No I/O."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Self

from mooring.client import ClaimView, LossCause, SessionResult
from mooring.client.loss import classify_loss

LOST = 1  # exit status of a server whose worker is lost: nobody reported one

_LOSSES: Mapping[LossCause, str] = {
    LossCause.DRAINED: "its node was drained",
    LossCause.EVICTED: "its worker was lost",
    LossCause.EXPIRED: "its worker was not heard of in time",
    LossCause.ABANDONED: "the hub was not heard of in time",
    LossCause.REVOKED: "it was released",
}


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The claim of a server. The epoch fences it: a claim under another epoch is not this server."""

    claim: str
    epoch: int
    worker: str
    address: str
    port: int

    def dump(self) -> dict[str, Any]:
        """For the hub's database."""
        return asdict(self)

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Self | None:
        """From the hub's database; None if it holds no complete server."""
        try:
            return cls(
                str(stored["claim"]),
                int(stored["epoch"]),
                str(stored["worker"]),
                str(stored["address"]),
                int(stored["port"]),
            )
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class EndedServer:
    """How a server ended: the exit status for the hub, and the message for its user."""

    status: int
    message: str


def key_prefix(hub: str, user: str, server: str) -> str:
    """Start of the idempotency keys of one server. Lengths keep apart `a/b` of user `c` and `a` of user `b/c`."""
    return f"{hub}/{len(user)}:{user}/{len(server)}:{server}/"


def is_running(server: RunningServer, found: ClaimView | None) -> bool:
    """Whether the claim is still that of the server."""
    return found is not None and found.open and found.epoch == server.epoch


def explain_end(
    server: RunningServer, found: ClaimView | None, result: SessionResult | None, now: datetime
) -> EndedServer:
    """The end of a server, from its claim and from what its worker reported."""
    if result is not None:
        return EndedServer(result.exit_code, f"Your server ended by itself, with exit code {result.exit_code}.")
    lost = classify_loss(server.claim, server.epoch, found, now)
    reason = found.reason if found is not None and found.reason else "nothing more is known"
    return EndedServer(
        LOST,
        f"Your server ended at {lost.at:%H:%M} UTC, because {_LOSSES[lost.cause]} ({reason}). "
        "Kernels and unsaved changes are gone; saved files are as durable as the volume that they are on.",
    )
