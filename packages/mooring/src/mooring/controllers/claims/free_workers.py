"""The workers of one pool that have a free slot, by tenant, load and share: which of them an owner gets."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mooring.model.pool import PoolSpec
from mooring.model.worker import Worker

NOBODY = ""
OWN = 0  # the rank of a replica for the workers of its share


@dataclass(frozen=True, slots=True)
class Choice:
    """The best worker for an owner. `private`: no other owner could be given this slot now."""

    worker: Worker
    private: bool = False


class _Row:
    """Workers of one load, by the rank of this replica for them, each in the order of becoming free."""

    def __init__(self) -> None:
        self.by_rank: dict[int, dict[str, Worker]] = defaultdict(dict)

    def __len__(self) -> int:
        return sum(map(len, self.by_rank.values()))

    def best(self) -> Worker | None:
        """The first of the own share. From another's share the last, because its replica begins with the first."""
        for rank in sorted(self.by_rank):
            if workers := self.by_rank[rank].values():
                return next(iter(workers)) if rank == OWN else next(reversed(workers))
        return None

    def best_of_own(self) -> Worker | None:
        return next(iter(self.by_rank[OWN].values()), None)


class _Shelf:
    """Workers of one tenant, by load."""

    def __init__(self) -> None:
        self.by_load: dict[int, _Row] = defaultdict(_Row)

    @property
    def idle(self) -> int:
        return len(self.by_load[0])

    def workers(self, loads: Iterable[int]) -> Iterator[Worker]:
        """The best one of each load."""
        return (worker for load in loads if (worker := self.by_load[load].best()) is not None)

    def least_loaded(self) -> Worker | None:
        return next(self.workers(sorted(self.by_load)), None)

    def least_loaded_of_own(self) -> Worker | None:
        found = (self.by_load[load].best_of_own() for load in sorted(self.by_load))
        return next((worker for worker in found if worker is not None), None)

    def fullest(self) -> Worker | None:
        """The most loaded worker among those in use."""
        return next(self.workers(load for load in sorted(self.by_load, reverse=True) if load), None)

    def first_idle(self) -> Worker | None:
        return next(self.workers((0,)), None)


class FreeWorkers:
    """Least loaded first, then this replica's share, then the one that has been free for longest.

    Pools that separate owners choose by owner.
    """

    def __init__(self) -> None:
        self._shelves: dict[str, _Shelf] = defaultdict(_Shelf)  # by tenant
        self._filed: dict[str, tuple[str, int, int]] = {}  # tenant, load and rank by uid

    def filed(self, uid: str) -> tuple[str, int, int] | None:
        """Tenant, load and rank under which a worker is filed; None if it has no free slot."""
        return self._filed.get(uid)

    @property
    def uids(self) -> list[str]:
        return list(self._filed)

    def put(self, worker: Worker, load: int, tenant: str = NOBODY, rank: int = OWN) -> None:
        """File a worker; one that is filed there already keeps its place in the row."""
        place = (tenant, load, rank)
        if self._filed.get(worker.uid) != place:
            self.drop(worker.uid)
            self._filed[worker.uid] = place
        self._shelves[tenant].by_load[load].by_rank[rank][worker.uid] = worker

    def drop(self, uid: str) -> None:
        """The worker has no free slot."""
        tenant, load, rank = self._filed.pop(uid, (NOBODY, -1, OWN))
        if load >= 0:
            shelf = self._shelves[tenant]
            shelf.by_load[load].by_rank[rank].pop(uid, None)
            if tenant != NOBODY and not any(shelf.by_load.values()):
                del self._shelves[tenant]

    def count_idle(self, spec: PoolSpec | None) -> int:
        """How many workers serve nobody and may be given to anyone."""
        if spec is not None and spec.reuse == "SameOwner":
            return self._shelves[NOBODY].idle
        return sum(shelf.idle for shelf in self._shelves.values())

    @property
    def others_free(self) -> bool:
        """Whether a worker of another replica's share has a free slot."""
        return any(rank != OWN for _, _, rank in self._filed.values())

    def choose_own(self) -> Choice | None:
        """The best worker of this replica's share, in a pool that does not separate owners."""
        worker = self._shelves[NOBODY].least_loaded_of_own()
        return Choice(worker) if worker is not None else None

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
