"""Placeholder pods of a pool: how many hold room on nodes, which to create, which to delete, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mooring.model.audit import Subject
from mooring.model.demand import Demand
from mooring.model.headroom import HeadroomStatus, Placeholder
from mooring.model.proof import Proofs, by_cluster, by_ledger
from mooring.planning.actions import WARM_FLOOR
from mooring.planning.demand.outlook import Outlook

KEPT_SECONDS = 60.0  # that a placeholder stays at least, so that a pool near its max does not make and delete them


@dataclass(frozen=True, slots=True)
class HeadroomSnapshot:
    """All that the decision may look at."""

    now: datetime
    pool: str  # its name
    demand: Demand | None
    spec_hash: str  # of a placeholder that would be created now
    placeholders: tuple[Placeholder, ...] = ()
    room: int = 0  # workers that `spec.max` still allows
    outlook: Outlook | None = None
    held: Mapping[str, int] = field(default_factory=dict)  # live claims, by pod uid
    problem: str = ""  # why the last one could not be created
    blocked: bool = False  # whether none is to be tried for the moment


@dataclass(frozen=True, slots=True)
class RetirePlaceholder:
    """Delete one placeholder pod, after it passed the rails."""

    placeholder: Placeholder
    reason: str
    proofs: Proofs
    age_seconds: float
    floor_seconds: float
    invariant: str = WARM_FLOOR

    @property
    def key(self) -> str:
        return f"{self.invariant}/{self.placeholder.uid}"

    @property
    def action(self) -> str:
        return "delete"

    @property
    def subject(self) -> Subject:
        return Subject("Pod", self.placeholder.namespace, self.placeholder.name, self.placeholder.uid)

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence for the audit row."""
        return {
            "placeholder": True,
            "proofs": [str(proof) for proof in self.proofs],
            "ageSeconds": round(self.age_seconds, 1),
            "floorSeconds": self.floor_seconds,
            "node": self.placeholder.node,
            "uid": self.placeholder.uid,
            "resourceVersion": self.placeholder.resource_version,
        }


@dataclass(frozen=True, slots=True)
class HeadroomPlan:
    """Names to create, acts, and the status; None without `spec.demand.headroom`."""

    creates: tuple[str, ...] = ()
    retires: tuple[RetirePlaceholder, ...] = ()
    status: HeadroomStatus | None = None


NO_HEADROOM = HeadroomPlan()


def plan_headroom(snapshot: HeadroomSnapshot) -> HeadroomPlan:
    """Keep as many as are wanted; delete the others, those that wait for a node first."""
    wanted, because = _want(snapshot)
    present = [one for one in snapshot.placeholders if not one.terminating and one.uid not in snapshot.held]
    useless = [one for one in present if one.finished or (wanted and one.spec_hash != snapshot.spec_hash)]
    useful = sorted((one for one in present if one not in useless), key=lambda one: (not one.node, one.created_at))
    surplus = useful[wanted:]
    missing = 0 if snapshot.blocked else max(0, wanted - len(useful))
    retires = [_retire(snapshot, one, "it has ended, or its pool asks for another kind", 0.0) for one in useless]
    retires += [_retire(snapshot, one, f"{because}: {wanted} wanted", KEPT_SECONDS) for one in surplus]
    if snapshot.demand is None or snapshot.demand.headroom is None:
        return HeadroomPlan(retires=tuple(retires))
    holding = sum(bool(one.node) for one in useful)
    status = HeadroomStatus(wanted, holding, len(useful) - holding, snapshot.problem or because)
    return HeadroomPlan(_free_names(snapshot, missing), tuple(retires), status)


def _want(snapshot: HeadroomSnapshot) -> tuple[int, str]:
    """How many, and why."""
    demand, outlook = snapshot.demand, snapshot.outlook
    if demand is None or demand.headroom is None:
        return 0, "the pool asks for no headroom"
    if demand.dry_run:
        return 0, "dry run: no headroom is kept"
    if outlook is None:
        kept = sum(not one.terminating for one in snapshot.placeholders)
        return kept, "nothing is known of the claims of this pool yet: headroom stays as it is"
    if outlook.quiet:
        return 0, f"no claim came for {demand.scale_down_after} and none is expected"
    if snapshot.room < demand.headroom.workers:
        room = max(0, snapshot.room)
        return room, f"spec.max leaves room for {_more_workers(room)}"
    return demand.headroom.workers, f"room for {_more_workers(demand.headroom.workers)} is kept on nodes"


def _more_workers(count: int) -> str:
    return "1 more worker" if count == 1 else f"{count} more workers"


def _free_names(snapshot: HeadroomSnapshot, count: int) -> tuple[str, ...]:
    """Names are slots, so that a stale view or a second control plane cannot create more than are wanted."""
    used = {one.name for one in snapshot.placeholders}
    names = (f"{snapshot.pool}-headroom-{slot}" for slot in range(count + len(used)))
    return tuple(name for name in names if name not in used)[:count]


def _retire(snapshot: HeadroomSnapshot, one: Placeholder, reason: str, floor: float) -> RetirePlaceholder:
    proofs = (by_cluster("it is a placeholder: it runs no work"), by_ledger("no live claim on it"))
    return RetirePlaceholder(one, reason, proofs, (snapshot.now - one.created_at).total_seconds(), floor)
