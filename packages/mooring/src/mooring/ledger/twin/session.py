"""One client of the store: it detects when the store was restored."""

from datetime import datetime

from hawser.clock import Clock, Entropy
from mooring.ledger.records import Cause, Channel, Incarnation
from mooring.ledger.twin.store import EPOCH_MARGIN, MemoryStore
from mooring.model.claim import Claim
from mooring.model.seal import SealKey


class Session:
    """`turn()` begins every call, and lets other tasks run first.

    The code after it, up to the next await, is atomic.
    """

    def __init__(self, store: MemoryStore, clock: Clock, entropy: Entropy) -> None:
        self.store = store
        self._clock = clock
        self._entropy = entropy
        self._highest_epoch = 0
        if not store.incarnations:
            self._begin(Cause.CREATED, clock.now(), armed=True)
        self.incarnation = store.incarnations[-1][0]
        if store.seal_key is None:
            store.seal_key = SealKey(entropy.token(), clock.now())

    @property
    def seal_key(self) -> SealKey:
        key = self.store.seal_key
        assert key is not None
        return key

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
        """Begin a new incarnation if the store was moved, or never issued this epoch."""
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
