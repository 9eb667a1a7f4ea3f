"""Detection of a changed ledger on every new connection: after a restore, a failover or a loss of commits."""

from datetime import datetime

from hawser.clock import Clock, Entropy
from mooring.ledger.postgres.database import Connection, Database, Row
from mooring.ledger.queries import load
from mooring.ledger.records import Cause, Incarnation
from mooring.model.errors import Misconfigured
from mooring.model.seal import SealKey

_SQL = load("meta")


class IncarnationKeeper:
    """Knows the current incarnation, and begins a new one if the database was moved or has lost commits."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._present: Incarnation | None = None
        self._seal_key: SealKey | None = None
        self._highest_epoch = 0

    @property
    def present(self) -> Incarnation:
        if self._present is None:
            raise Misconfigured("the ledger is not open", fix="open it first")
        return self._present

    @property
    def seal_key(self) -> SealKey:
        if self._seal_key is None:
            raise Misconfigured("the ledger is not open", fix="open it first")
        return self._seal_key

    def saw(self, incarnation: Incarnation) -> Incarnation:
        self._present = incarnation
        return incarnation

    def acknowledge(self, epoch: int) -> None:
        """Record the highest epoch that the ledger returned. It must never know less again."""
        self._highest_epoch = max(self._highest_epoch, epoch)

    async def create(self, connection: Connection) -> None:
        """The first incarnation of an empty database. It has lost nothing, so it is armed."""
        async with connection.transaction():
            await connection.fetch(_SQL["lock"])
            if await connection.fetchrow(_SQL["incarnation"]) is None:
                now = self._clock.now()
                await connection.fetch(_SQL["begin"], self._entropy.uuid(), now, Cause.CREATED.value, now, "mooring")
            await connection.fetch(_SQL["make_seal_key"], self._clock.now())

    async def verify(self, connection: Connection) -> None:
        """Check the database of a new connection."""
        row = await connection.fetchrow(_SQL["identify"])
        if row["secret"] is not None:
            self._seal_key = SealKey(row["secret"], row["secret_since"])
        if _cause_of_change(row, self._highest_epoch) is None:
            self.saw(incarnation_from(row))
            return
        async with connection.transaction():
            await self._renew(connection, self._highest_epoch, self._clock.now())

    async def observe(self, database: Database, epoch: int, now: datetime) -> Incarnation:
        """Make sure that the ledger has issued an epoch that was seen in the cluster."""
        await database.transact(lambda connection: self._renew(connection, epoch, now))
        return self.present

    async def _renew(self, connection: Connection, epoch: int, now: datetime) -> None:
        """Begin a new incarnation under a lock, after another check: another replica may have done it already."""
        await connection.fetch(_SQL["lock"])
        row = await connection.fetchrow(_SQL["identify"])
        cause = _cause_of_change(row, epoch)
        if cause is not None:
            await connection.fetch(_SQL["raise_epochs"], epoch)
            row = await connection.fetchrow(_SQL["begin"], self._entropy.uuid(), now, cause.value, None, "")
        self.saw(incarnation_from(row))


def incarnation_from(row: Row) -> Incarnation:
    return Incarnation(id=row["id"], since=row["since"], cause=Cause(row["cause"]), armed=row["armed"])


def _cause_of_change(row: Row, known_epoch: int) -> Cause | None:
    if not row["same_place"]:
        return Cause.RESTORED
    if not row["same_timeline"]:
        return Cause.FAILED_OVER
    if row["epoch_mark"] < known_epoch:
        return Cause.WENT_BACK
    return None
