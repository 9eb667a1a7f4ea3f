"""The workers of one pool that have a free slot, by tenant and load: which of them an owner gets."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mooring.model.pool import PoolSpec
from mooring.model.worker import Worker

NOBODY = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The best worker for an owner. `private`: no other owner could be given this slot now."""

    worker: Worker
    private: bool = False


class _Shelf:
    """Workers of one tenant, by load, each in the order of becoming free."""

    def __init__(self) -> None:
        self.by_load: dict[int, dict[str, Worker]] = defaultdict(dict)

    @property
    def idle(self) -> int:
        return len(self.by_load[0])

    def workers(self, loads: Iterable[int]) -> Iterator[Worker]:
        for load in loads:
            yield from self.by_load[load].values()

    def least_loaded(self) -> Worker | None:
        return next(self.workers(sorted(self.by_load)), None)

    def fullest(self) -> Worker | None:
        """Of those that are in use."""
        return next(self.workers(load for load in sorted(self.by_load, reverse=True) if load), None)

    def first_idle(self) -> Worker | None:
        return next(self.workers((0,)), None)


class FreeWorkers:
    """Least loaded first, and the one that has been free for longest. Pools that separate owners choose by owner."""

    def __init__(self) -> None:
        self._shelves: dict[str, _Shelf] = defaultdict(_Shelf)  # by tenant
        self._filed: dict[str, tuple[str, int]] = {}  # tenant and load by uid

    def filed(self, uid: str) -> tuple[str, int] | None:
        """Tenant and load under which a worker is filed; None if it has no free slot."""
        return self._filed.get(uid)

    @property
    def uids(self) -> list[str]:
        return list(self._filed)

    def put(self, worker: Worker, load: int, tenant: str = NOBODY) -> None:
        """File a worker; one that is filed there already keeps its place in the row."""
        if self._filed.get(worker.uid) != (tenant, load):
            self.drop(worker.uid)
            self._filed[worker.uid] = (tenant, load)
        self._shelves[tenant].by_load[load][worker.uid] = worker

    def drop(self, uid: str) -> None:
        """The worker has no free slot."""
        tenant, load = self._filed.pop(uid, (NOBODY, -1))
        if load >= 0:
            shelf = self._shelves[tenant]
            shelf.by_load[load].pop(uid, None)
            if tenant != NOBODY and not any(shelf.by_load.values()):
                del self._shelves[tenant]

    def count_idle(self, spec: PoolSpec | None) -> int:
        """How many workers serve nobody and may be given to anyone."""
        if spec is not None and spec.reuse == "SameOwner":
            return self._shelves[NOBODY].idle
        return sum(shelf.idle for shelf in self._shelves.values())

    def choose(self, owner: str, spec: PoolSpec) -> Choice | None:
        """The best worker for an owner; None when there is none."""
        if not spec.separates_owners:
            worker = self._shelves[NOBODY].least_loaded()
            return Choice(worker) if worker is not None else None
        own, bound = self._shelves.get(owner), spec.reuse == "SameOwner"
        if own is not None:
            worker = own.fullest() or (own.first_idle() if bound else None)
            if worker is not None:
                return Choice(worker, private=True)
        idle, reserved = self.count_idle(spec), self._reserved(spec)
        if idle > sum(count for other, count in reserved.items() if other != owner):
            worker = self._first_idle(owner, bound)
            if worker is not None:
                return Choice(worker, private=owner in spec.reserve or idle <= sum(reserved.values()))
        worker = self._shelves[NOBODY].fullest() if spec.sharing == "Any" else None
        return Choice(worker) if worker is not None else None

    def _first_idle(self, owner: str, bound: bool) -> Worker | None:
        """The one that the owner used last, one that nobody used last, or any other if workers are not bound."""
        shelves = [] if bound else [shelf for tenant, shelf in self._shelves.items() if tenant not in (owner, NOBODY)]
        first = [] if bound or owner not in self._shelves else [self._shelves[owner]]
        for shelf in (*first, self._shelves[NOBODY], *shelves):
            if (worker := shelf.first_idle()) is not None:
                return worker
        return None

    def _reserved(self, spec: PoolSpec) -> dict[str, int]:
        """How many idle workers are kept for each owner, besides those that only this owner can use."""
        if spec.reuse != "SameOwner":
            return spec.reserve
        bound = {owner: self._shelves[owner].idle if owner in self._shelves else 0 for owner in spec.reserve}
        return {owner: max(0, count - bound[owner]) for owner, count in spec.reserve.items()}
