"""Who is kept from being disturbed, and until when: the invariants `busy-is-protected` and `protection-bounded`.

A worker with a live claim carries a shield on its pod; one without carries none. A shield ends at the latest end of
its claims, so that a session which never ends cannot hold a node for ever (drift-roll).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from mooring.model.claim import Hold
from mooring.model.worker import Worker

BUSY_IS_PROTECTED = "busy-is-protected"
PROTECTION_BOUNDED = "protection-bounded"
WARNING_SHARE = 0.8  # of a protection's length: from then on its end is announced
SETTLING = timedelta(seconds=2)  # a claim's own patch brings the shield: younger ones are left to it


@dataclass(frozen=True, slots=True)
class ProtectionSnapshot:
    """Workers first, then holds: a claim made in between is then seen, never missed."""

    now: datetime
    workers: Sequence[Worker]
    holds: Iterable[Hold]


@dataclass(frozen=True, slots=True)
class Raise:
    """Put the shield up: the worker works, and something of its shield is missing."""

    worker: Worker
    holds: tuple[Hold, ...]


@dataclass(frozen=True, slots=True)
class Lower:
    """Take the shield down. Passes the rails."""

    invariant: str
    worker: Worker
    reason: str
    proofs: tuple[str, str]
    age_seconds: float
    floor_seconds: float
    holds: tuple[Hold, ...] = ()

    @property
    def key(self) -> str:
        """The same on both ticks."""
        return f"{self.invariant}/{self.worker.uid}"

    @property
    def due(self) -> bool:
        """Whether the rule is broken now, and not only soon."""
        return self.age_seconds >= self.floor_seconds

    @property
    def evidence(self) -> dict[str, Any]:
        """What the audit row keeps."""
        return {
            "proofs": list(self.proofs),
            "ageSeconds": round(self.age_seconds, 1),
            "floorSeconds": round(self.floor_seconds, 1),
            "node": self.worker.node,
            "claims": [hold.claim for hold in self.holds],
            "resourceVersion": self.worker.resource_version,
        }


@dataclass(frozen=True, slots=True)
class ProtectionEnd:
    """A worker whose protection ends soon, or has ended, though it works on."""

    worker: Worker
    hold: Hold  # the one that ends last
    until: datetime
    passed: bool

    @property
    def message(self) -> str:
        owner = self.hold.owner or "nobody"
        return (
            f"the session of {owner} on {self.worker.name} is protected until {_shown(self.until)}; "
            "after that its node may be drained under it"
        )


@dataclass(frozen=True, slots=True)
class ProtectionPlan:
    """Shields to put up and to take down, and those whose end is near or passed."""

    raises: tuple[Raise, ...]
    lowers: tuple[Lower, ...]
    ends: tuple[ProtectionEnd, ...]


def plan_protection(snapshot: ProtectionSnapshot) -> ProtectionPlan:
    """Compare every worker's shield with who holds it. Where they agree, nothing is made, not even an object."""
    now, holds = snapshot.now, _by_pod(snapshot.holds)
    raises: list[Raise] = []
    lowers: list[Lower] = []
    ends: list[ProtectionEnd] = []
    for worker in snapshot.workers:
        held = holds.get(worker.uid)
        shield = worker.shield
        if held is None:
            if not shield.down and not _is_ending(worker):
                lowers.append(_lower_stale(worker))
            continue
        if _is_ending(worker):
            continue
        last = held[0] if len(held) == 1 else max(held, key=_end)
        until = _end(last)
        if now < until:
            if not shield.up and now - max(hold.claimed_at for hold in held) >= SETTLING:
                raises.append(Raise(worker, held))
            if now < warned_from(last.claimed_at, until):
                continue
        ends.append(ProtectionEnd(worker, last, until, now >= until))
        if not shield.down:
            lowers.append(_lower_at_ceiling(now, worker, held, last, until))
    return ProtectionPlan(tuple(raises), tuple(lowers), tuple(ends))


def warned_from(claimed_at: datetime, until: datetime) -> datetime:
    """When the end of a protection begins to be announced."""
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
    """A claim without an end was promised no protection: it has what its first moments need."""
    return hold.protected_until or hold.claimed_at


def _is_ending(worker: Worker) -> bool:
    """Nobody asks the shield of a pod that is terminating or over."""
    return worker.terminating_since is not None or worker.finished


def _lower_stale(worker: Worker) -> Lower:
    return Lower(
        BUSY_IS_PROTECTED,
        worker,
        "protected, but nobody holds it",
        ("the ledger has no live claim on this pod", "the pod is as it was before the ledger was read"),
        0.0,
        0.0,
    )


def _lower_at_ceiling(now: datetime, worker: Worker, held: tuple[Hold, ...], last: Hold, until: datetime) -> Lower:
    """Asked for from the warning on, and held by its age: its two ticks are over when the ceiling is reached."""
    return Lower(
        PROTECTION_BOUNDED,
        worker,
        f"protected until {_shown(until)}, the ceiling of its pool; its session goes on",
        ("the latest end of its claims is over", "no claim was made on it since"),
        (now - last.claimed_at).total_seconds(),
        (until - last.claimed_at).total_seconds(),
        held,
    )


def _shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")
