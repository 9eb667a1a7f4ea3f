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
        "a worker with an owner's stamp has a live claim, or still executes its session",
        "remove the stamp from a healthy worker that never started, else delete its pod and ServiceAccount",
        "grace 300 s, every 60 s, 2 ticks; a silent worker after spec.reclaim.silentSeconds (600 s)",
        True,
    ),
    Invariant(
        "claim-has-pod",
        "the pod of a live claim exists, with the same uid",
        "the claim is lost; a retryable one is queued again",
        "600 s grace; absence proven by a live 404",
        True,
    ),
    Invariant(
        "claim-progresses",
        "a claim that has a worker begins to run",
        "release the claim and remove the stamp",
        "300 s",
        True,
    ),
    Invariant("claim-alive", "a running claim is renewed within its ttl", "the claim expires", "ttl", True),
    Invariant(
        "account-has-pod", "the ServiceAccount of a single worker has its pod", "delete the account", "300 s", True
    ),
    Invariant(
        "busy-is-protected",
        "a worker is protected while it has a live claim, and at no other time",
        "set or remove the protection marks",
        "2 s",
        True,
    ),
    Invariant(
        "protection-bounded",
        "the protection of a worker ends at its ceiling",
        "warn, then remove the marks",
        "3600 s, warning at 80 %",
        True,
    ),
    Invariant(
        "warm-on-live-node",
        "a warm Job has the current generation of its dataset, on a node that exists with the same uid",
        "delete the Job and fetch the shard again",
        "after 60 s",
        True,
    ),
    Invariant(
        "leftover-jobs",
        "a Job of a submission belongs to a submission that exists",
        "delete the Job and wait until it is gone",
        "every 30 s and before each submit, 2 ticks; of unknown origin after 1800 s",
        True,
    ),
    Invariant(
        "schedulable",
        "some node can take the pods of each pool, Warmup, submission and service",
        "explain it in a condition, and keep the pods as they are",
        "",
        True,
    ),
    Invariant(
        "warm-floor",
        "each pool has its idle workers, and never more workers than max",
        "create workers, slowly at first",
        "",
        True,
    ),
    Invariant(
        "adopted",
        "a live replica manages the workers of every pool",
        "the next replica takes over",
        "heartbeat 2 s, dead after 7 s",
        True,
    ),
)

INVARIANT_IDS = frozenset(invariant.id for invariant in INVARIANTS)
