"""Dialogs before an act: what would happen, the reason for the audit trail, and the form. They work as pages, too."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from mooring.model.claim import Claim
from mooring.model.errors import Conflict
from mooring.model.time_format import describe_span
from mooring.queries.fleet import PoolReading, WorkerReading
from mooring.queries.invariants import InvariantReading
from mooring.queries.services import ServiceReading
from mooring.queries.submissions import SubmissionDetail
from mooring.queries.warmups import WarmupReading


class Field(msgspec.Struct, frozen=True):
    """An input of the form beside the reason."""

    name: str
    label: str
    value: str = ""
    kind: str = "text"  # text, number, hidden
    bounds: tuple[int, int] | None = None  # of a number


class Dialog(msgspec.Struct, frozen=True):
    """What the act would do, in the words of a dry run, and its form, which is sent to `action`."""

    title: str
    action: str
    button: str
    impact: Sequence[str]
    back: str
    danger: bool = False
    asks_reason: bool = True
    needs_reason: bool = False
    fields: Sequence[Field] = ()


def release_dialog(claim: Claim, now: datetime) -> Dialog:
    """Take the worker from the holder, or the place from the one who waits."""
    if claim.ended_at is not None:
        raise Conflict(f"claim {claim.id} is {claim.state.value} already", fix="read it again")
    pool, age = f"{claim.namespace}/{claim.pool}", describe_span((now - claim.created_at).total_seconds())
    if claim.pod_name is None:
        impact = f"{claim.owner} loses its place in the queue of {pool} after {age}"
    else:
        beat = claim.heartbeat_at
        heartbeat = f"{describe_span((now - beat).total_seconds())} ago" if beat else "never"
        impact = f"{claim.owner} loses worker {claim.pod_name} of {pool} after {age}; its last heartbeat: {heartbeat}"
    return Dialog(
        f"Release claim {claim.id[:8]}",
        f"/actions/claims/{claim.id}/release",
        "Release",
        [impact, "the holder gets the reason"],
        f"/claims/{claim.id}",
        danger=True,
    )


def retire_dialog(worker: WorkerReading) -> Dialog:
    """Delete a worker that nobody holds."""
    key = f"{worker.namespace}/{worker.name}"
    impact = [f"worker {key} of pool {worker.pool} ({worker.state}: {worker.reason}) is deleted and replaced"]
    impact += [
        f"claim {claim} of {worker.owner or 'its holder'} holds it: release the claim first" for claim in worker.claims
    ]
    action = f"/actions/workers/{worker.namespace}/{worker.name}/retire"
    return Dialog(f"Retire {key}", action, "Retire", impact, f"/workers/{key}", danger=True, needs_reason=True)


def switch_dialog(rule: InvariantReading, verb: str) -> Dialog:
    """Pause or resume an invariant on all replicas."""
    impact = [f"{rule.id} acts again on all replicas: {rule.rule}"]
    if verb == "pause":
        impact = [
            f"{rule.id} will not act on any replica until it is resumed: {rule.rule}",
            f"now {rule.state}: {rule.broken} broken, {rule.healed} healed; not done while it is paused: {rule.remedy}",
        ]
    action = f"/actions/invariants/{rule.id}/{verb}"
    return Dialog(
        f"{verb.capitalize()} {rule.id}", action, verb.capitalize(), impact, "/invariants", danger=verb == "pause"
    )


def rewarm_dialog(warmup: WarmupReading) -> Dialog:
    """Fetch all shards again."""
    key = f"{warmup.namespace}/{warmup.name}"
    impact = [
        f"all {warmup.spec.shards} shards of {warmup.spec.dataset} are fetched again, once, when nodes are Ready",
        f"{warmup.status.nodes_ready} of {warmup.status.nodes_total} are warm now",
    ]
    return Dialog(f"Re-warm {key}", f"/actions/warmups/{key}/rewarm", "Re-warm", impact, f"/warmups/{key}")


def close_circuit_dialog(warmup: WarmupReading) -> Dialog:
    """Try again before the circuit closes by itself."""
    key = f"{warmup.namespace}/{warmup.name}"
    failures = len(warmup.status.circuit.failures) if warmup.status.circuit else 0
    impact = [f"{failures} Jobs ended badly within an hour; their shards are tried again at once"]
    return Dialog(f"Try {key} again", f"/actions/warmups/{key}/close-circuit", "Try again", impact, f"/warmups/{key}")


def cancel_dialog(submission: SubmissionDetail) -> Dialog:
    """End a submission."""
    key = f"{submission.namespace}/{submission.name}"
    jobs = submission.status.jobs
    impact = [
        f"{jobs.active} active Jobs of {key} are deleted; {jobs.succeeded} of {jobs.total} steps have succeeded",
        "it has no finalizer" if submission.spec.finalizer is None else "its finalizer still runs",
    ]
    action = f"/actions/submissions/{key}/cancel"
    return Dialog(f"Cancel {key}", action, "Cancel the submission", impact, f"/submissions/{key}", danger=True)


def remove_dialog(service: ServiceReading) -> Dialog:
    """Delete a service."""
    key = f"{service.namespace}/{service.name}"
    ready = service.status.rollout.ready
    impact = [f"{key} is deleted with its Deployment ({ready} ready pods), its Service and its budget"]
    fields = [Field("uid", "", service.uid, "hidden")]
    action = f"/actions/services/{key}/delete"
    return Dialog(f"Delete {key}", action, "Delete", impact, f"/services/{key}", danger=True, fields=fields)


def scale_dialog(pool: PoolReading) -> Dialog:
    """Change how many idle workers are kept."""
    key = f"{pool.namespace}/{pool.name}"
    impact = [
        f"{key} keeps {pool.spec.warm} workers idle now, and has at most {pool.spec.max}",
        f"{pool.status.idle} are idle, {pool.status.busy} busy; busy workers stay as they are",
    ]
    field = Field("warm", "Idle workers to keep (spec.warm)", str(pool.spec.warm), "number", (0, pool.spec.max))
    return Dialog(f"Scale {key}", f"/actions/pools/{key}/scale", "Scale", impact, f"/pools/{key}", fields=[field])


def claim_dialog(pool: PoolReading, owner: str) -> Dialog:
    """Claim a worker for a person who uses it by hand."""
    key = f"{pool.namespace}/{pool.name}"
    impact = [
        f"one of {pool.status.idle} idle workers of {key} is claimed and protected",
        "without heartbeats the claim expires after its time; the terminal and the SDK renew it",
    ]
    fields = [
        Field("owner", "Owner", owner),
        Field("minutes", "Minutes until it expires", "15", "number", (1, 1440)),
    ]
    return Dialog(
        f"Claim a worker of {key}",
        f"/actions/pools/{key}/claim",
        "Claim",
        impact,
        f"/pools/{key}",
        asks_reason=False,
        fields=fields,
    )
