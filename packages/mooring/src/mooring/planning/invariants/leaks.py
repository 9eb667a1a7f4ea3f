"""The invariant `stamped-has-claim`: workers that carry a stamp and are held by no live claim.

In the incident leaked-stamps claims were released while their work still ran. A worker therefore only counts as leaked
after two independent proofs: it has no claim, and it executes nothing. A worker without a sign of life for
`spec.reclaim.silentSeconds` counts as the second: what it may still try is refused, because its epoch is fenced.
"""

from collections.abc import Iterable
from typing import Any

from mooring.model.audit import Subject
from mooring.model.claim import Claim, ClaimState
from mooring.model.proof import Proof, Proofs, by_holder, by_ledger, by_worker
from mooring.model.reclaim import EffectiveReclaim
from mooring.model.worker import Stamp, Worker
from mooring.planning.invariants.claims import Act, ClaimsSnapshot, Remedy, never_given, worked_later
from mooring.planning.workers import retire_command

STAMPED_HAS_CLAIM = "stamped-has-claim"


def find_suspects(workers: Iterable[Worker], claims: Iterable[Claim]) -> list[Worker]:
    """Workers that have a stamp and no live claim."""
    held = {claim.pod_uid for claim in claims}
    return [
        worker
        for worker in workers
        if worker.stamp is not None and worker.uid not in held and worker.terminating_since is None
    ]


def plan_stamped_has_claim(snapshot: ClaimsSnapshot) -> list[Act]:
    """A stamped pod has a live claim or executes; otherwise its stamp is removed or the pod is deleted."""
    return [
        _plan_suspect(worker, worker.stamp, snapshot)
        for worker in find_suspects(snapshot.workers, snapshot.claims)
        if worker.stamp is not None
    ]


def find_misnamed(workers: Iterable[Worker], claims: Iterable[Claim]) -> list[tuple[Worker, Claim]]:
    """Shared workers whose stamp names a session that is over, each with a session that goes on there."""
    held: dict[str, list[Claim]] = {}
    for claim in claims:
        held.setdefault(claim.pod_uid or "", []).append(claim)
    found: list[tuple[Worker, Claim]] = []
    for worker in workers:
        stamp, live = worker.stamp, held.get(worker.uid, [])
        if stamp is not None and live and stamp.epoch not in {claim.epoch for claim in live}:
            running = [claim for claim in live if claim.state is ClaimState.RUNNING]
            found += [(worker, successor) for successor in sorted(running, key=lambda claim: -claim.epoch)[:1]]
    return found


def _plan_suspect(worker: Worker, stamp: Stamp, snapshot: ClaimsSnapshot) -> Act:
    executing = snapshot.executing.get(worker.uid)
    row = snapshot.stamped_claims.get(stamp.claim)
    unused = never_given(row, stamp.epoch) and not worked_later(row, stamp.epoch, worker.uid)
    reclaim = snapshot.reclaims.get(f"{worker.namespace}/{worker.pool}")
    silence = snapshot.worker_silent_seconds.get(worker.uid)
    says_idle = by_worker("it says that it is not executing")
    idle = says_idle if executing is False else _prove_idle(worker, snapshot)
    # A stamp without a readable time has no age. It is kept and reported.
    age = (snapshot.now - stamp.stamped_at).total_seconds() if stamp.stamped_at else 0.0
    proofs: Proofs = (by_ledger("no live claim on this pod"), idle)
    floor = snapshot.timeouts.reap_grace
    remedy = Remedy.UNSTAMP if worker.ready and unused else Remedy.DELETE_WORKER
    silent = executing is None and _is_silent(silence, reclaim)
    if not idle and silent and reclaim is not None and silence is not None and reclaim.policy == "Delete":
        proofs = (by_ledger(_fenced(stamp, row)), by_worker(f"no sign of life for {silence:.0f} s"))
        age, floor = silence, reclaim.silent_seconds
        if reclaim.polls:
            remedy = Remedy.DELETE_WORKER  # it would have polled: it hangs, and would get no session
    facts: dict[str, Any] = {"claim": stamp.claim, "executing": executing, "neverRan": unused}
    if silence is not None:
        facts["workerSilentSeconds"] = round(silence)
    return Act(
        invariant=STAMPED_HAS_CLAIM,
        remedy=remedy,
        subject=Subject("Pod", worker.namespace, worker.name, worker.uid),
        reason=f"stamped for {stamp.owner or 'no owner'}, but no live claim holds it{_kept(silent, silence, reclaim)}",
        proofs=proofs,
        age_seconds=age,
        floor_seconds=floor,
        worker=worker,
        facts={**facts, "policy": reclaim.policy if reclaim else "unknown", "fix": _fix(worker, idle, reclaim)},
    )


def _prove_idle(worker: Worker, snapshot: ClaimsSnapshot) -> Proof:
    """Proof that a worker executes nothing, if the worker itself does not say so.

    If its port refuses connections, nothing executes. With push dispatch only the holder knows, so its release counts.
    """
    if snapshot.executing.get(worker.uid) is not None:
        return by_worker("")
    health = snapshot.unhealthy.get(worker.uid)
    if health is not None and health.failed and health.last and health.last.refused:
        return by_worker(health.summary)
    if f"{worker.namespace}/{worker.pool}" in snapshot.push_pools and worker.stamp is not None:
        return by_holder(_given_back(worker, worker.stamp, snapshot))
    return by_worker("")


def _given_back(worker: Worker, stamp: Stamp, snapshot: ClaimsSnapshot) -> str:
    """Why no holder gives this worker work under its stamp; empty if one may.

    A stamp may arrive late, out of a cut connection, and replace the one of a later session that nobody gave back.
    """
    row = snapshot.stamped_claims.get(stamp.claim)
    if row is None:
        return ""
    since = row.epoch if row.pod_uid == worker.uid else stamp.epoch
    later = [one for one in snapshot.expired.get(worker.uid, ()) if one.epoch > since]
    if not all(never_given(one, one.epoch) for one in later):
        return ""
    if row.state is ClaimState.RELEASED and row.pod_uid == worker.uid and row.epoch >= stamp.epoch:
        under = f" under the later epoch {row.epoch}" if row.epoch > stamp.epoch else ""
        return f"it released the worker{under}, and only a holder gives it work"
    silence = snapshot.worker_silent_seconds.get(worker.uid, 0.0)
    if never_given(row, stamp.epoch) and silence >= snapshot.timeouts.reap_grace:
        return f"no client was given the worker under this epoch, and no sign of life for {silence:.0f} s"
    return ""


def _is_silent(silence: float | None, reclaim: EffectiveReclaim | None) -> bool:
    return silence is not None and reclaim is not None and silence >= reclaim.silent_seconds


def _fenced(stamp: Stamp, row: Claim | None) -> str:
    """The ledger's proof: who comes back under this epoch is refused. Empty if the epoch is live somewhere."""
    if row is not None and row.live and row.epoch == stamp.epoch:
        return ""
    return "no live claim; the epoch of its stamp is fenced"


def _kept(silent: bool, silence: float | None, reclaim: EffectiveReclaim | None) -> str:
    if not silent or silence is None or reclaim is None or reclaim.policy == "Delete":
        return ""
    return f"; no sign of life for {silence:.0f} s, and the pool keeps silent workers (spec.reclaim.policy)"


def _fix(worker: Worker, idle: Proof, reclaim: EffectiveReclaim | None) -> str:
    """The next command of a person, or what happens without one."""
    if idle:
        return ""
    if reclaim is not None and reclaim.policy == "Delete":
        return (
            f"{retire_command(worker)} (or wait: deleted after {reclaim.silent_seconds:.0f} s without a sign of life)"
        )
    return retire_command(worker)
