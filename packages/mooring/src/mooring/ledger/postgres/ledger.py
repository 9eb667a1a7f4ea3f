"""The ledger in PostgreSQL."""

from dataclasses import replace
from datetime import datetime
from typing import Self

from hawser.clock import Clock, Entropy
from mooring.ledger.errors import translated
from mooring.ledger.migrations import known_migrations, migrate
from mooring.ledger.postgres.audit import PostgresAudit
from mooring.ledger.postgres.claims import PostgresClaims
from mooring.ledger.postgres.database import Database, DatabaseOptions, check_server
from mooring.ledger.postgres.demand import PostgresDemand
from mooring.ledger.postgres.history import PostgresHistory
from mooring.ledger.postgres.incarnation import IncarnationKeeper, incarnation_from
from mooring.ledger.postgres.invariants import PostgresInvariants
from mooring.ledger.postgres.link import read_link, require_files
from mooring.ledger.postgres.liveness import PostgresLiveness
from mooring.ledger.postgres.notifications import Notifications
from mooring.ledger.postgres.replicas import PostgresReplicas
from mooring.ledger.postgres.revocations import PostgresRevocations
from mooring.ledger.postgres.sessions import PostgresSessions
from mooring.ledger.postgres.usage import PostgresUsage
from mooring.ledger.queries import load
from mooring.ledger.records import Channel, Incarnation, Link, Listener, Unlisten
from mooring.model.seal import SealKey

_SQL = load("meta")


class PostgresMeta:
    """Implements `Meta`."""

    def __init__(self, database: Database, keeper: IncarnationKeeper) -> None:
        self._database = database
        self._keeper = keeper

    async def incarnation(self) -> Incarnation:
        return self._keeper.saw(incarnation_from(await self._database.fetch_row(_SQL["incarnation"])))

    async def observe_epoch(self, epoch: int, *, now: datetime) -> Incarnation:
        return await self._keeper.observe(self._database, epoch, now)

    async def succeeds(self, incarnation_id: str, earlier_id: str) -> bool:
        rows = await self._database.fetch(_SQL["succeeds"], incarnation_id, earlier_id)
        found: bool = rows[0]["found"]
        return found

    async def issued_epoch(self) -> int:
        epoch: int = (await self._database.fetch(_SQL["issued"]))[0]["epoch"]
        return epoch

    async def arm(self, incarnation_id: str, *, actor: str, now: datetime) -> Incarnation:
        await self._database.fetch(_SQL["arm"], incarnation_id, now, actor)
        return await self.incarnation()

    async def ping(self) -> None:
        await self._database.fetch(_SQL["ping"])

    async def time(self) -> datetime:
        rows = await self._database.fetch(_SQL["time"])
        moment: datetime = rows[0]["time"]
        return moment

    async def link(self) -> Link:
        rows = await self._database.fetch(_SQL["encrypted"])
        return read_link(self._database.url, encrypted=rows[0]["encrypted"])


class PostgresLedger:
    """Implements `Ledger`. Created by `open`, which also applies migrations."""

    def __init__(self, database: Database, heartbeats: Database, clock: Clock, entropy: Entropy) -> None:
        self._database = database
        self._heartbeats = heartbeats
        self._keeper = IncarnationKeeper(clock, entropy)
        self._notifications = Notifications(database, clock, entropy)
        self.claims = PostgresClaims(database, self._keeper)
        self.audit = PostgresAudit(database)
        self.revocations = PostgresRevocations(database)
        self.invariants = PostgresInvariants(database)
        self.replicas = PostgresReplicas(heartbeats)
        self.liveness = PostgresLiveness(database)
        self.sessions = PostgresSessions(database)
        self.history = PostgresHistory(database)
        self.demand = PostgresDemand(database)
        self.usage = PostgresUsage(database)
        self.meta = PostgresMeta(database, self._keeper)

    @classmethod
    async def open(cls, url: str, *, clock: Clock, entropy: Entropy, options: DatabaseOptions | None = None) -> Self:
        """Connect, migrate, verify the incarnation, listen.

        Raises Unavailable or Misconfigured with one line of text.
        """
        require_files(url)
        options = options or DatabaseOptions()
        database = Database(url, options, clock, entropy)
        # A replica that is busy with claims is alive: its heartbeats do not wait for a connection behind them.
        heartbeats = Database(url, replace(options, pool_size=1), clock, entropy)
        ledger = cls(database, heartbeats, clock, entropy)
        try:
            await ledger._prepare(clock)
        except BaseException:
            await ledger.close()
            raise
        return ledger

    @property
    def incarnation(self) -> Incarnation:
        return self._keeper.present

    @property
    def seal_key(self) -> SealKey:
        return self._keeper.seal_key

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        return self._notifications.listen(channel, listener)

    async def notify(self, channel: Channel, payload: str) -> None:
        await self._database.fetch(_SQL["notify"], channel.value, payload)

    async def close(self) -> None:
        try:
            await self._notifications.stop()
        finally:
            await self._heartbeats.close()
            await self._database.close()

    async def _prepare(self, clock: Clock) -> None:
        connection = await self._database.connect_first()
        try:
            with translated(self._database.where, starting=True):
                await check_server(connection)
                await migrate(connection, known_migrations(), clock.now())
                await self._keeper.create(connection)
        finally:
            await connection.close()
        for database in (self._database, self._heartbeats):
            database.verify = self._keeper.verify
            await database.open()
        await self.meta.ping()
        await self._notifications.start()
