"""One client of the store: takes its turn for every call, and notices when the store is not what it was."""

from datetime import datetime

from mooring.clock import Clock, Entropy
from mooring.ledger.records import Cause, Channel, Incarnation
from mooring.ledger.twin.store import EPOCH_MARGIN, MemoryStore
from mooring.model.claim import Claim


class Session:
    """`turn()` begins every call: others may run first. What follows it, up to the next await, is one transaction."""

    def __init__(self, store: MemoryStore, clock: Clock, entropy: Entropy) -> None:
        self.store = store
        self._clock = clock
        self._entropy = entropy
        self._highest_epoch = 0
        if not store.incarnations:
            self._begin(Cause.CREATED, clock.now(), armed=True)
        self.incarnation = store.incarnations[-1][0]

    def now(self) -> datetime:
        return self._clock.now()

    async def turn(self) -> MemoryStore:
        await self._clock.sleep(0)
        self.observe(self._highest_epoch, self._clock.now())
        return self.store

    def acknowledge(self, claim: Claim) -> Claim:
        self._highest_epoch = max(self._highest_epoch, claim.epoch)
        return claim

    def observe(self, epoch: int, now: datetime) -> None:
        """Begin a new incarnation when the store moved, or never handed out this epoch."""
        store = self.store
        _, place = store.incarnations[-1]
        if place != store.place or store.epoch < epoch:
            store.epoch = max(store.epoch, epoch) + EPOCH_MARGIN
            self._begin(Cause.RESTORED if place != store.place else Cause.WENT_BACK, now, armed=False)
        self.incarnation = store.incarnations[-1][0]

    def _begin(self, cause: Cause, now: datetime, *, armed: bool) -> None:
        incarnation = Incarnation(id=self._entropy.uuid(), since=now, cause=cause, armed=armed)
        self.store.incarnations.append((incarnation, self.store.place))
        if cause is not Cause.CREATED:
            self.store.notify(Channel.INCARNATION, incarnation.id)
