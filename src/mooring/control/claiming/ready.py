"""Who is free: an index in memory, so that a claim costs no search. The ledger has the last word on every slot.

Least loaded first; among equals the one that has been free for longest.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from mooring.control.fleet import Fleet
from mooring.ledger.records import LiveClaims
from mooring.model.claim import Claim
from mooring.model.worker import Worker

_ANOTHERS = "another's"  # in place of a claim's id


@dataclass(frozen=True, slots=True)
class Place:
    """A slot on a worker, set aside for one claim."""

    pool_key: str
    worker: Worker
    slot: int


class _Pool:
    """The free workers of one pool, by load."""

    def __init__(self) -> None:
        self.by_load: dict[int, dict[str, Worker]] = defaultdict(dict)  # each in the order of becoming free
        self.load_of: dict[str, int] = {}

    def put(self, worker: Worker, load: int) -> None:
        before = self.load_of.get(worker.uid)
        if before == load:
            self.by_load[load][worker.uid] = worker  # keeps its place in the row
            return
        self.drop(worker.uid)
        self.by_load[load][worker.uid] = worker
        self.load_of[worker.uid] = load

    def drop(self, uid: str) -> None:
        load = self.load_of.pop(uid, None)
        if load is not None:
            self.by_load[load].pop(uid, None)

    def first(self) -> Worker | None:
        for load in sorted(self.by_load):
            for worker in self.by_load[load].values():
                return worker
        return None


class ReadyIndex:
    """Free slots of all pools. `take` sets one aside; `free` gives it back."""

    def __init__(self, fleet: Fleet, has_failed: Callable[[Worker], bool]) -> None:
        self._fleet = fleet
        self._has_failed = has_failed
        self._pools: dict[str, _Pool] = defaultdict(_Pool)
        self._occupied: dict[str, dict[int, str]] = defaultdict(dict)  # pod uid -> slot -> claim id ("" is in flight)
        self._listeners: list[Callable[[str], None]] = []
        self._touched: set[tuple[str, int]] = set()  # slots that changed hands here since the ledger was last asked
        self._armed = True

    def idle(self, pool_key: str) -> int:
        """How many workers are usable and nobody's."""
        return len(self._pools[pool_key].by_load[0])

    def held(self, pool_key: str) -> dict[str, int]:
        """How many slots of each worker are taken, by uid."""
        present = self._fleet.worker_pools.get(pool_key, {})
        return {uid: len(slots) for uid in present if (slots := self._occupied.get(uid))}

    def on_free(self, listener: Callable[[str], None]) -> None:
        """Be told which pool has a free slot now."""
        self._listeners.append(listener)

    def take(self, pool_key: str) -> Place | None:
        """Set the best slot aside; None when no worker is free."""
        pool = self._pools[pool_key]
        while (worker := pool.first()) is not None:
            slot = self._free_slot(pool_key, worker)
            if slot is None or not self._usable(worker):
                pool.drop(worker.uid)
                continue
            self._occupy(worker.uid, slot, "")
            self._file(pool_key, worker)
            return Place(pool_key, worker, slot)
        return None

    def place_of(self, claim: Claim) -> Place | None:
        """The slot that a claim holds; None when its worker is not there any more."""
        pool_key = f"{claim.namespace}/{claim.pool}"
        worker = self._fleet.worker(pool_key, claim.pod_uid or "")
        return Place(pool_key, worker, claim.slot) if worker is not None and claim.slot is not None else None

    def hold(self, place: Place, claim_id: str) -> None:
        """The slot belongs to a claim."""
        self._occupy(place.worker.uid, place.slot, claim_id)

    def others(self, uid: str, slot: int | None) -> bool:
        """Whether another slot of the worker is held, as far as we know."""
        return any(held != slot for held in self._occupied.get(uid, {}))

    @property
    def armed(self) -> bool:
        """Whether the ledger's rows were complete when it was last read."""
        return self._armed

    def concede(self, place: Place) -> None:
        """Another replica has the slot, as far as we know: until `learn` reads the ledger again."""
        self.hold(place, _ANOTHERS)

    def free(self, pool_key: str, uid: str, slot: int) -> None:
        """The slot is free again, as far as we know."""
        self._occupied.get(uid, {}).pop(slot, None)
        self._touched.add((uid, slot))
        worker = self._fleet.worker(pool_key, uid)
        if worker is not None:
            self._file(pool_key, worker)

    def update(self, pool_key: str, uid: str) -> None:
        """One worker changed."""
        worker = self._fleet.worker(pool_key, uid)
        if worker is None:
            self._pools[pool_key].drop(uid)
            self._occupied.pop(uid, None)
            return
        if worker.stamp is None and uid in self._occupied:
            # Nobody's any more, whoever released it. Slots in flight here stay; the ledger decides the rest.
            before = self._occupied[uid]
            self._occupied[uid] = {slot: claim for slot, claim in before.items() if claim == ""}
            self._touched.update((uid, slot) for slot in before)
        self._file(pool_key, worker)

    def refresh(self, pool_key: str) -> None:
        """A pool or the nodes changed: file every worker anew."""
        pool = self._pools[pool_key]
        present = self._fleet.worker_pools.get(pool_key, {})
        for uid in [uid for uid in pool.load_of if uid not in present]:
            pool.drop(uid)
            self._occupied.pop(uid, None)
        for worker in sorted(present.values(), key=lambda worker: worker.ready_since or worker.created_at):
            self._file(pool_key, worker)

    def ask(self) -> None:
        """The ledger is about to be read: what changes hands from now on is newer than what comes back."""
        self._touched.clear()

    def learn(self, live: LiveClaims) -> None:
        """What the ledger says is held, by any replica. What changed here since `ask` we know better."""
        held: dict[str, dict[int, str]] = defaultdict(dict)
        for claim in live.claims:
            uid, slot = claim.pod_uid, claim.slot
            if uid is not None and slot is not None and (uid, slot) not in self._touched:
                held[uid][slot] = claim.id
        for uid, slots in self._occupied.items():
            known = {slot: claim for slot, claim in slots.items() if claim == "" or (uid, slot) in self._touched}
            if known:
                held[uid].update(known)
        before, self._occupied = self._occupied, held
        rearmed, self._armed = live.armed != self._armed, live.armed
        for pool_key, workers in self._fleet.worker_pools.items():
            for uid in workers.keys() if rearmed else (before.keys() | held.keys()) & workers.keys():
                if rearmed or before.get(uid) != held.get(uid):
                    self._file(pool_key, workers[uid])

    def _occupy(self, uid: str, slot: int, claim_id: str) -> None:
        self._occupied[uid][slot] = claim_id
        self._touched.add((uid, slot))

    def _file(self, pool_key: str, worker: Worker) -> None:
        pool = self._pools[pool_key]
        load = len(self._occupied.get(worker.uid, {}))
        if not self._usable(worker) or self._free_slot(pool_key, worker) is None:
            pool.drop(worker.uid)
            return
        was_free = worker.uid in pool.load_of
        pool.put(worker, load)
        if not was_free:
            for listener in self._listeners:
                listener(pool_key)

    def _free_slot(self, pool_key: str, worker: Worker) -> int | None:
        definition = self._fleet.pool(pool_key)
        if definition is None or definition.terminating or definition.uid != worker.pool_uid:
            return None
        taken = self._occupied.get(worker.uid, {})
        # A stamp counts too: it may be of a claim that only another replica knows, or of one whose row is lost.
        if worker.stamp is not None and (definition.spec.slots == 1 or not taken or not self._armed):
            return None
        return next((slot for slot in range(definition.spec.slots) if slot not in taken), None)

    def _usable(self, worker: Worker) -> bool:
        """A terminating, doomed or unhealthy worker never gets a new session, on any path."""
        node = self._fleet.nodes.get(worker.node)
        return (
            worker.ready
            and worker.terminating_since is None
            and not worker.finished
            and node is not None
            and node.ready
            and not node.draining_because
            and not self._has_failed(worker)
        )
