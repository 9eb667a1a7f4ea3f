"""The ledger in memory."""

import asyncio
from collections import defaultdict, deque
from datetime import datetime

from msgspec.structs import replace

from hawser.clock import Clock, Entropy
from mooring.ledger.records import Channel, Incarnation, Link, Listener, Unlisten, Wake
from mooring.ledger.twin.audit import MemoryAudit
from mooring.ledger.twin.claims import MemoryClaims
from mooring.ledger.twin.demand import MemoryDemand
from mooring.ledger.twin.history import MemoryHistory
from mooring.ledger.twin.invariants import MemoryInvariants
from mooring.ledger.twin.liveness import MemoryLiveness
from mooring.ledger.twin.replicas import MemoryReplicas
from mooring.ledger.twin.revocations import MemoryRevocations
from mooring.ledger.twin.session import Session
from mooring.ledger.twin.sessions import MemorySessions
from mooring.ledger.twin.store import MemoryStore
from mooring.ledger.twin.usage import MemoryUsage
from mooring.model.seal import SealKey


class MemoryMeta:
    """Implements `Meta`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def incarnation(self) -> Incarnation:
        await self._session.turn()
        return self._session.incarnation

    async def observe_epoch(self, epoch: int, *, now: datetime) -> Incarnation:
        await self._session.turn()
        self._session.observe(epoch, now)
        return self._session.incarnation

    async def succeeds(self, incarnation_id: str, earlier_id: str) -> bool:
        known = [incarnation.id for incarnation, _ in (await self._session.turn()).incarnations]
        return earlier_id in known and incarnation_id in known[known.index(earlier_id) + 1 :]

    async def issued_epoch(self) -> int:
        return (await self._session.turn()).epoch

    async def arm(self, incarnation_id: str, *, actor: str, now: datetime) -> Incarnation:
        store = await self._session.turn()
        present, place = store.incarnations[-1]
        if present.id == incarnation_id and not present.armed:
            store.incarnations[-1] = (replace(present, armed=True), place)
            store.notify(Channel.INCARNATION, incarnation_id)
        self._session.incarnation = store.incarnations[-1][0]
        return self._session.incarnation

    async def ping(self) -> None:
        await self._session.turn()

    async def time(self) -> datetime:
        await self._session.turn()
        return self._session.now()

    async def link(self) -> Link:
        await self._session.turn()
        return Link()


class MemoryLedger:
    """Implements `Ledger` for one process."""

    def __init__(self, store: MemoryStore, *, clock: Clock, entropy: Entropy) -> None:
        self._session = Session(store, clock, entropy)
        self._inbox: deque[Wake] = deque()
        self._listeners: defaultdict[Channel, list[Listener]] = defaultdict(list)
        self.claims = MemoryClaims(self._session)
        self.audit = MemoryAudit(self._session)
        self.revocations = MemoryRevocations(self._session)
        self.invariants = MemoryInvariants(self._session)
        self.replicas = MemoryReplicas(self._session)
        self.liveness = MemoryLiveness(self._session)
        self.sessions = MemorySessions(self._session)
        self.history = MemoryHistory(self._session)
        self.demand = MemoryDemand(self._session)
        self.usage = MemoryUsage(self._session)
        self.meta = MemoryMeta(self._session)
        store.subscribe(self._receive)

    @property
    def incarnation(self) -> Incarnation:
        return self._session.incarnation

    @property
    def seal_key(self) -> SealKey:
        return self._session.seal_key

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        listeners = self._listeners[channel]
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    async def notify(self, channel: Channel, payload: str) -> None:
        (await self._session.turn()).notify(channel, payload)

    async def close(self) -> None:
        self._session.store.unsubscribe(self._receive)

    def _receive(self, wake: Wake) -> None:
        self._inbox.append(wake)
        if len(self._inbox) == 1:
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        """Deliver notifications one at a time and in order, outside of the call that caused them."""
        wake = self._inbox.popleft()
        if self._inbox:
            asyncio.get_running_loop().call_soon(self._deliver)
        for listener in list(self._listeners[wake.channel]):
            listener(wake)
