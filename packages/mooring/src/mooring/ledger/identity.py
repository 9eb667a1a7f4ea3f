"""The part of the ledger's interface that is about the ledger itself."""

from datetime import datetime
from typing import Protocol

from mooring.ledger.records import Incarnation, Link


class Meta(Protocol):
    """The ledger itself: its incarnation and its clock."""

    async def incarnation(self) -> Incarnation:
        """The incarnation, read from the database."""
        ...

    async def observe_epoch(self, epoch: int, *, now: datetime) -> Incarnation:
        """Report an epoch that a pod in the cluster carries.

        If the ledger never issued it, the ledger has lost commits: a new, unarmed incarnation begins and later epochs
        are greater than this one. Otherwise nothing happens.
        """
        ...

    async def succeeds(self, incarnation_id: str, earlier_id: str) -> bool:
        """Whether this ledger was the earlier incarnation first, and the other one later. False for an unknown one."""
        ...

    async def issued_epoch(self) -> int:
        """The highest epoch that the ledger has issued, as far as it knows; 0 before the first."""
        ...

    async def arm(self, incarnation_id: str, *, actor: str, now: datetime) -> Incarnation:
        """Declare the rows complete. Has no effect if another incarnation is current."""
        ...

    async def ping(self) -> None:
        """Raise Unavailable if the ledger does not answer."""
        ...

    async def time(self) -> datetime:
        """The database's clock. Only used to compare clocks, never for decisions."""
        ...

    async def link(self) -> Link:
        """How the database is reached, and whether that connection is encrypted."""
        ...
