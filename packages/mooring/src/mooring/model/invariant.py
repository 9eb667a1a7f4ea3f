"""The invariants: conditions on the cluster and the ledger that Mooring checks and restores."""

import msgspec


class Invariant(msgspec.Struct, frozen=True):
    """One invariant, its remedy, and whether this version enforces it."""

    id: str
    rule: str
    remedy: str
    constants: str
    enforced: bool = False


INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "stamped-has-claim",
        "a pod with an owner stamp has a live claim or is executing",
        "un-stamp if healthy and never started, else delete pod and ServiceAccount",
        "grace 300 s, every 60 s, 2 ticks; a silent worker after spec.reclaim.silentSeconds (600 s)",
        True,
    ),
    Invariant(
        "claim-has-pod",
        "a live claim's pod exists with that UID",
        "claim lost; requeue if retryable",
        "600 s grace; absence proven by a live 404",
        True,
    ),
    Invariant("claim-progresses", "claimed becomes running", "release and un-stamp", "300 s", True),
    Invariant("claim-alive", "heartbeat within ttl", "expired", "ttl", True),
    Invariant("account-has-pod", "a per-worker ServiceAccount has its pod", "delete", "300 s", True),
    Invariant(
        "busy-is-protected",
        "live claims > 0 <=> do-not-disrupt and safe-to-evict=false",
        "set or clear",
        "2 s",
        True,
    ),
    Invariant(
        "protection-bounded",
        "protection ends at the ceiling",
        "warn, then clear",
        "3600 s, warning at 80 %",
        True,
    ),
    Invariant(
        "warm-on-live-node",
        "a warm Job's node exists with that UID, and its generation is current",
        "delete Job, re-plan",
        "debounce 60 s",
        True,
    ),
    Invariant(
        "leftover-jobs",
        "submission Jobs belong to a live submission",
        "delete, wait until gone",
        "every 30 s and before each submit, 2 ticks; of unknown origin after 1800 s",
        True,
    ),
    Invariant("schedulable", "managed pods can schedule somewhere", "condition and explanation, no churn", "", True),
    Invariant("warm-floor", "idle >= warm, while active + terminating <= max", "create, slow start", "", True),
    Invariant(
        "adopted",
        "every worker of a pool is owned by a live replica's epoch",
        "adopt",
        "heartbeat 2 s, dead after 7 s",
        True,
    ),
)

INVARIANT_IDS = frozenset(invariant.id for invariant in INVARIANTS)
