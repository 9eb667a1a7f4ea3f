"""Protection of busy workers: the invariants `busy-is-protected` and `protection-bounded`.

A worker with a live claim carries the protection marks on its pod; a worker without one does not. Protection ends at
the latest `protected_until` of its claims, so a session that never ends cannot block a node for ever (incident drift-
roll).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from mooring.model.audit import Subject
from mooring.model.claim import Hold
from mooring.model.proof import Proofs, by_cluster, by_ledger
from mooring.model.worker import Worker

BUSY_IS_PROTECTED = "busy-is-protected"
PROTECTION_BOUNDED = "protection-bounded"
WARNING_SHARE = 0.8  # the share of a protection's length after which its end is announced
SETTLING = timedelta(seconds=2)  # the claim's own patch sets the marks, so younger claims are left to it


@dataclass(frozen=True, slots=True)
class ProtectionSnapshot:
    """Input of the plan. Workers are read before holds, so a claim made in between is seen."""

    now: datetime
    workers: tuple[Worker, ...]
    holds: tuple[Hold, ...]


@dataclass(frozen=True, slots=True)
class ProtectWorker:
    """Set the protection marks of a busy worker that lacks some of them."""

    worker: Worker
    holds: tuple[Hold, ...]


@dataclass(frozen=True, slots=True)
class UnprotectWorker:
    """Remove the protection marks, after the act passed the rails."""

    invariant: str
    worker: Worker
    reason: str
    proofs: Proofs
    age_seconds: float
    floor_seconds: float
    holds: tuple[Hold, ...] = ()

    @property
    def key(self) -> str:
        """Identifies the act; equal on both ticks."""
        return f"{self.invariant}/{self.worker.uid}"

    @property
    def action(self) -> str:
        return "unprotect"

    @property
    def subject(self) -> Subject:
        return Subject("Pod", self.worker.namespace, self.worker.name, self.worker.uid)

    @property
    def due(self) -> bool:
        """Whether the invariant is broken now, not only soon."""
        return self.age_seconds >= self.floor_seconds

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence for the audit row."""
        return {
            "proofs": [str(proof) for proof in self.proofs],
            "ageSeconds": round(self.age_seconds, 1),
            "floorSeconds": round(self.floor_seconds, 1),
            "node": self.worker.node,
            "claims": [hold.claim for hold in self.holds],
            "resourceVersion": self.worker.resource_version,
        }


@dataclass(frozen=True, slots=True)
class ProtectionEnd:
    """A busy worker whose protection ends soon or has ended."""

    worker: Worker
    hold: Hold  # the one that ends last
    until: datetime
    passed: bool

    @property
    def message(self) -> str:
        owner = self.hold.owner or "an unknown owner"
        return (
            f"the session of {owner} on {self.worker.name} is protected until {_shown(self.until)}; "
            "after that its node may be drained under it"
        )


@dataclass(frozen=True, slots=True)
class ProtectionPlan:
    """Workers to protect, workers to unprotect, and protections that end soon or have ended."""

    protects: tuple[ProtectWorker, ...]
    unprotects: tuple[UnprotectWorker, ...]
    ends: tuple[ProtectionEnd, ...]


def plan_protection(snapshot: ProtectionSnapshot) -> ProtectionPlan:
    """Compare the marks of every worker with its claims. No object is created for workers where both agree."""
    now, holds = snapshot.now, _by_pod(snapshot.holds)
    protects: list[ProtectWorker] = []
    unprotects: list[UnprotectWorker] = []
    ends: list[ProtectionEnd] = []
    for worker in snapshot.workers:
        held = holds.get(worker.uid)
        marks = worker.marks
        if held is None:
            if not marks.absent and not _is_ending(worker):
                unprotects.append(_unprotect_stale(worker))
            continue
        if _is_ending(worker):
            continue
        last = held[0] if len(held) == 1 else max(held, key=_end)
        until = _end(last)
        if now < until:
            if not marks.complete and now - max(hold.claimed_at for hold in held) >= SETTLING:
                protects.append(ProtectWorker(worker, held))
            if now < warned_from(last.claimed_at, until):
                continue
        ends.append(ProtectionEnd(worker, last, until, now >= until))
        if not marks.absent:
            unprotects.append(_unprotect_at_ceiling(now, worker, held, last, until))
    return ProtectionPlan(tuple(protects), tuple(unprotects), tuple(ends))


def warned_from(claimed_at: datetime, until: datetime) -> datetime:
    """When the end of a protection is first announced."""
    return claimed_at + (until - claimed_at) * WARNING_SHARE


def _by_pod(holds: Iterable[Hold]) -> Mapping[str, tuple[Hold, ...]]:
    single: dict[str, tuple[Hold, ...]] = {}
    several: dict[str, list[Hold]] = defaultdict(list)
    for hold in holds:
        if hold.pod_uid in single:
            several[hold.pod_uid].append(hold)
        else:
            single[hold.pod_uid] = (hold,)
    for uid, more in several.items():
        single[uid] = (*single[uid], *more)
    return single


def _end(hold: Hold) -> datetime:
    """A claim without an end of protection is only protected at its beginning."""
    return hold.protected_until or hold.claimed_at


def _is_ending(worker: Worker) -> bool:
    """The marks of a pod that is terminating or finished have no effect."""
    return worker.terminating_since is not None or worker.finished


def _unprotect_stale(worker: Worker) -> UnprotectWorker:
    return UnprotectWorker(
        BUSY_IS_PROTECTED,
        worker,
        "protected without a live claim",
        (by_ledger("no live claim on this pod"), by_cluster("the pod is as it was before the ledger was read")),
        0.0,
        0.0,
    )


def _unprotect_at_ceiling(
    now: datetime, worker: Worker, held: tuple[Hold, ...], last: Hold, until: datetime
) -> UnprotectWorker:
    """Planned from the warning on and held by its age, so that its two ticks are over when the ceiling is reached."""
    return UnprotectWorker(
        PROTECTION_BOUNDED,
        worker,
        f"protected until {_shown(until)}, the ceiling of its pool; its session still runs",
        (by_ledger("the latest end of its claims is over"), by_cluster("the pod carries no newer stamp")),
        (now - last.claimed_at).total_seconds(),
        (until - last.claimed_at).total_seconds(),
        held,
    )


def _shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")
