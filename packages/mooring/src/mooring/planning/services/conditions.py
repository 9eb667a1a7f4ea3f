"""The conditions of a service: one for each step on the way to Serving."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from mooring.model.service import ServiceStatus
from mooring.model.service_observations import Outcome
from mooring.model.why import Condition, merge_conditions
from mooring.planning.services.diagnosis import REPLICAS_TAKEN

if TYPE_CHECKING:
    from mooring.planning.services.plan import Desired, ServiceSnapshot, Verdict


def compute_conditions(
    snapshot: ServiceSnapshot, desired: Desired, verdict: Verdict, status: ServiceStatus
) -> tuple[Condition, ...]:
    """All conditions. RolledBack and ReplicasOwned are present only if they apply."""
    fresh = [
        _valid(snapshot),
        _schedulable(snapshot, verdict),
        _rolled_out(snapshot, desired, verdict),
        _available(snapshot, verdict),
        _documented(snapshot, status),
        _serving(verdict),
    ]
    if status.rollout.rolled_back_from:
        message = f"{status.rollout.rolled_back_from} was given up for {status.rollout.last_serving}"
        fresh.append(Condition("RolledBack", "True", "ImageFailed", message))
    obstacle = snapshot.obstacle
    if obstacle is not None and obstacle.code == REPLICAS_TAKEN:
        fresh.append(Condition("ReplicasOwned", "False", obstacle.code, obstacle.reason))
    generation = snapshot.service.generation
    conditions = tuple(_of(one, generation) for one in fresh)
    return merge_conditions(snapshot.service.status.conditions, conditions, _stamp(snapshot.now))


def admit_unknown(before: tuple[Condition, ...], reason: str, generation: int, now: datetime) -> tuple[Condition, ...]:
    """The conditions after a failed reconcile: Serving becomes Unknown, the others keep their last observation."""
    serving = Condition("Serving", "Unknown", "ReconcileFailed", reason, observed_generation=generation)
    kept = (one for one in before if one.type != "Serving")
    return merge_conditions(before, (*kept, serving), _stamp(now))


def _stamp(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _of(condition: Condition, generation: int) -> Condition:
    return Condition(
        condition.type, condition.status, condition.reason, condition.message, observed_generation=generation
    )


def _valid(snapshot: ServiceSnapshot) -> Condition:
    if snapshot.problems:
        return Condition("Valid", "False", "InvalidSpec", "; ".join(snapshot.problems))
    return Condition("Valid", "True", "Accepted", "the spec is valid")


def _schedulable(snapshot: ServiceSnapshot, verdict: Verdict) -> Condition:
    placement_check = snapshot.placement_check
    if verdict.code == "Unschedulable":
        return Condition("Schedulable", "False", "Unschedulable", f"{verdict.reason}; {verdict.fix}")
    if not placement_check.fits:
        return Condition("Schedulable", "False", "NoNodeFits", placement_check.reason)
    return Condition("Schedulable", "True", "NodesFit", "there are nodes that take its pods")


def _rolled_out(snapshot: ServiceSnapshot, desired: Desired, verdict: Verdict) -> Condition:
    if verdict.phase == "Unknown" and snapshot.unreadable:
        return Condition("RolledOut", "Unknown", "Unreadable", snapshot.unreadable)
    rollout = snapshot.rollout
    if rollout is None:
        return Condition("RolledOut", "False", "NotApplied", "nothing is applied")
    if rollout.spec_hash == desired.spec_hash and rollout.complete:
        return Condition("RolledOut", "True", "Complete", f"{rollout.image} on every replica")
    return Condition("RolledOut", "False", verdict.code, verdict.reason)


def _available(snapshot: ServiceSnapshot, verdict: Verdict) -> Condition:
    """Whether some endpoint answers. During a failed update that is the previous version."""
    if verdict.phase == "Unknown" and snapshot.unreadable:
        return Condition("Available", "Unknown", "Unreadable", snapshot.unreadable)
    if snapshot.endpoints:
        return Condition("Available", "True", "EndpointsReady", "endpoints are ready")
    return Condition("Available", "False", "NoEndpoints", "no endpoint is ready")


def _documented(snapshot: ServiceSnapshot, status: ServiceStatus) -> Condition:
    answer = snapshot.answer
    if answer is None:
        return Condition("Documented", "Unknown", "NotAsked", "its document has not been read")
    if answer.outcome is Outcome.DOCUMENT:
        message = f"{status.api.title}, {status.api.endpoints} endpoints" if status.api else "its document parses"
        return Condition("Documented", "True", "Parsed", message)
    unknown = answer.outcome in (Outcome.NO_ANSWER, Outcome.FOREIGN_ADDRESS)
    return Condition("Documented", "Unknown" if unknown else "False", "NoDocument", answer.message or answer.outcome)


def _serving(verdict: Verdict) -> Condition:
    state = {"Serving": "True", "Unknown": "Unknown"}.get(verdict.phase, "False")
    return Condition("Serving", state, verdict.code, verdict.reason)
