"""Free slots: an index in memory, so that a claim needs no search. The ledger decides about every slot.

Least loaded first; among equals those of this replica's share, and the one that has been free for longest.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mooring.controllers.claims.free_workers import NOBODY, Choice, FreeWorkers
from mooring.controllers.claims.metrics import COLLISIONS
from mooring.controllers.claims.shares import Shares
from mooring.controllers.fleet import Fleet
from mooring.engine.nodes.informer import NodeInformer
from mooring.ledger.records import LiveClaims
from mooring.model.claim import Claim
from mooring.model.pool import Pool
from mooring.model.worker import Worker

_ANOTHERS = "another's"  # in place of a claim's id


@dataclass(frozen=True, slots=True)
class Place:
    """A slot on a worker, set aside for one claim."""

    pool_key: str
    worker: Worker
    slot: int
    private: bool = False  # no other owner could be given it now
    bound: bool = False  # the worker may belong to an owner by now: its stamp has to be fenced on what was seen
    marked: bool = False  # its stamp names the tenant too, because its sessions may end in any order


class ReadyIndex:
    """Free slots of all pools. `take` sets one aside; `free` gives it back."""

    def __init__(self, fleet: Fleet, nodes: NodeInformer, is_unfit: Callable[[Worker], bool], shares: Shares) -> None:
        self._fleet = fleet
        self._shares = shares
        self._nodes = nodes
        self._is_unfit = is_unfit  # unhealthy, or silent
        self._pools: dict[str, FreeWorkers] = defaultdict(FreeWorkers)
        self._occupied: dict[str, dict[int, str]] = defaultdict(dict)  # pod uid -> slot -> claim id ("" is in flight)
        self._listeners: list[Callable[[str], None]] = []
        self._touched: set[tuple[str, int]] = set()  # slots that changed hands here since the ledger was last asked
        self._owners: dict[str, str] = {}  # pod uid -> whose sessions occupy it, in pools that separate owners
        self._armed = True

    def idle(self, pool_key: str) -> int:
        """How many workers are usable and have no owner."""
        definition = self._fleet.pool(pool_key)
        return self._pools[pool_key].count_idle(definition.spec if definition is not None else None)

    def others_free(self, pool_key: str) -> bool:
        """Whether a slot of another replica's share is free, in a pool that does not separate owners."""
        return not self._separates_owners(pool_key) and self._pools[pool_key].others_free

    def held(self, pool_key: str) -> dict[str, int]:
        """How many slots of each worker are taken, by uid."""
        present = self._fleet.worker_pools.get(pool_key, {})
        return {uid: len(slots) for uid in present if (slots := self._occupied.get(uid))}

    def on_free(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the key of a pool that has a free slot now."""
        self._listeners.append(listener)

    def take(self, pool_key: str, owner: str) -> Place | None:
        """Set the best slot for an owner aside; None when no worker is free for it."""
        return self._take(pool_key, owner, lambda pool, definition: pool.choose(owner, definition.spec))

    def take_own(self, pool_key: str) -> Place | None:
        """Set the best slot of this replica's share aside, in a pool that does not separate owners."""
        return self._take(pool_key, NOBODY, lambda pool, _: pool.choose_own())

    def _take(self, pool_key: str, owner: str, choose: Callable[[FreeWorkers, Pool], Choice | None]) -> Place | None:
        pool, definition = self._pools[pool_key], self._fleet.pool(pool_key)
        while definition is not None and (choice := choose(pool, definition)) is not None:
            worker = choice.worker
            slot = self._free_slot(pool_key, worker)
            if slot is None or not self._usable(worker):
                pool.drop(worker.uid)
                continue
            if definition.spec.separates_owners:
                self._owners[worker.uid] = owner
            self._occupy(worker.uid, slot, "")
            self._file(pool_key, worker)
            return self._place(definition, worker, slot, choice.private)
        return None

    def place_of(self, claim: Claim) -> Place | None:
        """The slot that a claim holds; None when its worker is not there any more."""
        pool_key = f"{claim.namespace}/{claim.pool}"
        worker, definition = self._fleet.worker(pool_key, claim.pod_uid or ""), self._fleet.pool(pool_key)
        if worker is None or definition is None or claim.slot is None:
            return None
        return self._place(definition, worker, claim.slot)

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
        COLLISIONS.labels(place.pool_key).inc()
        self.hold(place, _ANOTHERS)

    def concede_worker(self, place: Place) -> None:
        """Another owner has the worker, as far as we know: until `learn` reads the ledger again."""
        self._owners[place.worker.uid] = _ANOTHERS
        self.concede(place)
        self._file(place.pool_key, place.worker)

    def free(self, pool_key: str, uid: str, slot: int) -> None:
        """The slot is free again, as far as we know."""
        self._occupied.get(uid, {}).pop(slot, None)
        self._touched.add((uid, slot))
        self._forget_owner(uid)
        worker = self._fleet.worker(pool_key, uid)
        if worker is not None:
            self._file(pool_key, worker)

    def update(self, pool_key: str, uid: str) -> None:
        """One worker changed."""
        worker = self._fleet.worker(pool_key, uid)
        if worker is None:
            self._drop(pool_key, uid)
            return
        if worker.stamp is None and uid in self._occupied:
            # It was released, here or elsewhere. Slots in flight here stay; the ledger decides the rest.
            before = self._occupied[uid]
            self._occupied[uid] = {slot: claim for slot, claim in before.items() if claim == ""}
            self._touched.update((uid, slot) for slot in before)
            self._forget_owner(uid)
        self._file(pool_key, worker)

    def refresh(self, pool_key: str) -> None:
        """A pool or the nodes changed: file every worker anew."""
        pool = self._pools[pool_key]
        present = self._fleet.worker_pools.get(pool_key, {})
        for uid in [uid for uid in pool.uids if uid not in present]:
            self._drop(pool_key, uid)
        for worker in sorted(present.values(), key=lambda worker: worker.ready_since or worker.created_at):
            self._file(pool_key, worker)

    def share_with(self, replicas: Iterable[str]) -> None:
        """These replicas serve claims now."""
        if self._shares.change(replicas):
            for pool_key in self._fleet.worker_pools:
                self.refresh(pool_key)

    def ask(self) -> None:
        """Called before the ledger is read: changes from now on are newer than the rows that the read returns."""
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
        before_owners, self._owners = self._owners, self._learn_owners(live, held)
        before, self._occupied = self._occupied, held
        rearmed, self._armed = live.armed != self._armed, live.armed
        for pool_key, workers in self._fleet.worker_pools.items():
            for uid in workers.keys() if rearmed else (before.keys() | held.keys()) & workers.keys():
                changed = before.get(uid) != held.get(uid) or before_owners.get(uid) != self._owners.get(uid)
                if rearmed or changed:
                    self._file(pool_key, workers[uid])

    def _learn_owners(self, live: LiveClaims, held: Mapping[str, dict[int, str]]) -> dict[str, str]:
        """Whose sessions occupy each worker, in pools that separate owners."""
        apart = {key for key, pool in self._fleet.pools.items() if pool.spec.separates_owners}
        if not apart:
            return {}
        owners = {claim.pod_uid: claim.owner for claim in live.claims if f"{claim.namespace}/{claim.pool}" in apart}
        newer = {uid: self._owners[uid] for uid, _ in self._touched if uid in self._owners}
        return {uid: owner for uid, owner in (owners | newer).items() if uid is not None and uid in held}

    def _occupy(self, uid: str, slot: int, claim_id: str) -> None:
        self._occupied[uid][slot] = claim_id
        self._touched.add((uid, slot))

    def _file(self, pool_key: str, worker: Worker) -> None:
        pool = self._pools[pool_key]
        load = len(self._occupied.get(worker.uid, {}))
        if not self._usable(worker) or self._free_slot(pool_key, worker) is None:
            pool.drop(worker.uid)
            return
        before = pool.filed(worker.uid)
        pool.put(worker, load, self._tenant(pool_key, worker), self._shares.rank(worker.uid))
        if before is None or (before != pool.filed(worker.uid) and self._separates_owners(pool_key)):
            for listener in self._listeners:
                listener(pool_key)

    def _drop(self, pool_key: str, uid: str) -> None:
        """The worker is gone."""
        self._pools[pool_key].drop(uid)
        self._occupied.pop(uid, None)
        self._owners.pop(uid, None)
        self._shares.forget(uid)

    def _free_slot(self, pool_key: str, worker: Worker) -> int | None:
        definition = self._fleet.pool(pool_key)
        if definition is None or definition.terminating or definition.uid != worker.pool_uid:
            return None
        taken = self._occupied.get(worker.uid, {})
        # A stamp counts too: it may be of a claim that only another replica knows, or of one whose row is lost.
        if worker.stamp is not None and (definition.spec.slots == 1 or not taken or not self._armed):
            return None
        return next((slot for slot in range(definition.spec.slots) if slot not in taken), None)

    def _tenant(self, pool_key: str, worker: Worker) -> str:
        """Whose sessions the worker may get: of its present ones, else of its last one; nobody's in most pools."""
        definition = self._fleet.pool(pool_key)
        if definition is None or not definition.spec.marks_tenants:
            return NOBODY
        if not self._occupied.get(worker.uid):
            return worker.tenant
        return self._owners.get(worker.uid) or (worker.stamp.owner if worker.stamp is not None else _ANOTHERS)

    def _separates_owners(self, pool_key: str) -> bool:
        definition = self._fleet.pool(pool_key)
        return definition is not None and definition.spec.separates_owners

    def _place(self, pool: Pool, worker: Worker, slot: int, private: bool = False) -> Place:
        spec = pool.spec
        return Place(
            pool.key, worker, slot, private, spec.reuse == "SameOwner", marked=spec.marks_tenants and spec.slots > 1
        )

    def _forget_owner(self, uid: str) -> None:
        if not self._occupied.get(uid):
            self._owners.pop(uid, None)

    def _usable(self, worker: Worker) -> bool:
        """A terminating, doomed, unhealthy or silent worker never gets a new session, on any path."""
        node = self._nodes.by_name.get(worker.node)
        return (
            worker.ready
            and worker.unproven_since is None
            and worker.terminating_since is None
            and not worker.finished
            and node is not None
            and node.ready
            and not node.draining_because
            and not self._is_unfit(worker)
        )
