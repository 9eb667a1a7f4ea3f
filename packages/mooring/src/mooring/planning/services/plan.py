"""The plan for one service: what to apply, and its phase.

`Serving` requires a complete rollout, ready endpoints, and a document that parses. The phase is `Unknown` if something
could not be read.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from mooring.model.evidence import Failure
from mooring.model.pod_template import PodTemplate
from mooring.model.service import Phase, Service, ServiceApi, ServiceRollout, ServiceSpec, ServiceStatus
from mooring.model.service_observations import Answer, PodEvidence, Rollout, ServicePod
from mooring.planning.placement import Placed
from mooring.planning.services.conditions import admit_unknown, compute_conditions
from mooring.planning.services.diagnosis import REPLICAS_TAKEN, Diagnosis, diagnose, judge_answer
from mooring.planning.services.fixes import kubectl, patch_service
from mooring.planning.services.preflight import PlacementCheck

SCHEDULABLE = "schedulable"
ROLLBACK_SECONDS = 60.0  # after a new image has failed for this long, the last serving one is applied again
# Failures that another image can correct. A quota or a missing key are not among them.
_IMAGE_FAILS = frozenset(
    {"ImageUnauthorized", "ImageNotFound", "RegistryUnreachable", "ImageNameInvalid", "ImagePullFailed"}
    | {"CrashLooping", "StartRefused", "PortMismatch", "ProbeFailing", "DocumentNotFound", "DocumentInvalid"}
)
_LOOK_AGAIN_SECONDS: dict[Phase, float] = {"Starting": 3.0, "Serving": 30.0, "Failed": 10.0, "Unknown": 5.0}


@dataclass(frozen=True, slots=True)
class Desired:
    """The wanted state of the service's objects."""

    image: str
    spec_hash: str
    placed: Placed


@dataclass(frozen=True, slots=True)
class ServiceSnapshot:
    """Input of the plan."""

    now: datetime
    service: Service
    placement_check: PlacementCheck
    rollout: Rollout | None = None  # None if there is no Deployment
    attached: bool = False  # whether its Service and its budget are as wanted
    pods: tuple[ServicePod, ...] = ()
    endpoints: int = 0  # ready ones
    evidence: PodEvidence | None = None
    answer: Answer | None = None  # of a ready pod of the current template
    url: str = ""
    problems: tuple[str, ...] = ()  # what is wrong with the spec
    obstacle: Diagnosis | None = None  # why the last apply failed
    unreadable: str = ""  # what could not be read for longer than a moment
    preflight_paused: str = ""


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What to apply, the status, and when to plan again."""

    apply: Desired | None
    status: ServiceStatus
    wake_at: datetime | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A phase and its reason."""

    phase: Phase
    code: str
    reason: str
    fix: str = ""
    failure: Failure | None = None


def desired_state(service: Service, placement_check: PlacementCheck) -> Desired:
    """The current template: the image of the spec, or the one that a rollback went back to."""
    spec, rollout = service.spec, service.status.rollout
    given_up = spec.rollback == "LastServing" and rollout.last_serving and rollout.rolled_back_from == spec.image
    image = rollout.last_serving if given_up else spec.image
    # The placement derived from the nodes is not part of the hash: nodes come and go, and must not cause a rollout.
    parts = (image, spec.command, spec.args, spec.port, spec.openapi_path, spec.env, spec.placement, *_shape(spec))
    spec_hash = hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]
    return Desired(image, spec_hash, placement_check.placed)


def _shape(spec: ServiceSpec) -> tuple[PodTemplate, ...]:
    """Nothing without a template: its hash stays what it was before there were templates."""
    return (spec.pod_template,) if spec.pod_template != PodTemplate() else ()


def plan_service(snapshot: ServiceSnapshot) -> ServicePlan:
    """Decide what to apply, and compute the status."""
    desired = desired_state(snapshot.service, snapshot.placement_check)
    refused = find_refusal(snapshot, desired)
    apply = None if refused or snapshot.service.terminating or not _differs(snapshot, desired) else desired
    verdict = refused or _judge(snapshot, desired)
    status = _status(snapshot, desired, verdict)
    return ServicePlan(apply, status, snapshot.now + timedelta(seconds=_LOOK_AGAIN_SECONDS.get(verdict.phase, 60.0)))


def admit_failure(service: Service, message: str, now: datetime) -> ServiceStatus:
    """The status after a failed reconcile: what was known before is no longer known."""
    before = service.status
    reason = f"Mooring could not reconcile it: {message}"
    return ServiceStatus(
        observed_generation=service.generation,
        phase="Unknown",
        reason=reason,
        fix="mooring doctor",
        rollout=before.rollout,
        conditions=admit_unknown(before.conditions, reason, service.generation, now),
    )


def find_refusal(snapshot: ServiceSnapshot, desired: Desired) -> Verdict | None:
    """Why nothing may be applied; None if it may."""
    if snapshot.unreadable:
        return Verdict("Unknown", "Unreadable", snapshot.unreadable, "mooring doctor")
    if snapshot.problems:
        fix = kubectl(snapshot.service.namespace, "edit", "managedservice", snapshot.service.name)
        return Verdict("Failed", "InvalidSpec", "; ".join(snapshot.problems), fix)
    new_pods = snapshot.rollout is None or snapshot.rollout.spec_hash != desired.spec_hash
    placement_check = snapshot.placement_check
    if new_pods and snapshot.service.spec.replicas and not placement_check.fits and not snapshot.preflight_paused:
        reason = f"{placement_check.reason}; nothing was rolled out"
        return Verdict("Failed", "Unschedulable", reason, placement_check.fix)
    return None


def _differs(snapshot: ServiceSnapshot, desired: Desired) -> bool:
    rollout, spec = snapshot.rollout, snapshot.service.spec
    if rollout is None or not snapshot.attached:
        return True
    if (rollout.spec_hash, rollout.image, rollout.wanted) != (desired.spec_hash, desired.image, spec.replicas):
        return True
    # Taints or labels of the nodes changed, and pods wait for a node with the old placement.
    moved = rollout.placement != desired.placed.fingerprint
    return moved and snapshot.placement_check.fits and any(pod.unschedulable for pod in _current(snapshot, desired))


def _current(snapshot: ServiceSnapshot, desired: Desired) -> tuple[ServicePod, ...]:
    return tuple(pod for pod in snapshot.pods if pod.spec_hash == desired.spec_hash and not pod.terminating)


def _judge(snapshot: ServiceSnapshot, desired: Desired) -> Verdict:
    service, rollout = snapshot.service, snapshot.rollout
    obstacle = snapshot.obstacle
    if obstacle is not None and (obstacle.code != REPLICAS_TAKEN or _scaled_away(snapshot)):
        return _failed(obstacle)
    if rollout is None or rollout.spec_hash != desired.spec_hash:
        return Verdict("Starting", "Applying", f"{desired.image} is being applied")
    if service.spec.replicas == rollout.wanted == 0 and rollout.complete:
        return Verdict("Absent", "ScaledToZero", "scaled to 0 replicas", patch_service(service, replicas=1))
    if not rollout.complete:
        found = diagnose(service, desired.image, rollout, snapshot.evidence, snapshot.now)
        if found is not None and found.code == "Unschedulable" and not snapshot.placement_check.fits:
            return Verdict(
                "Failed",
                found.code,
                f"{found.reason} ({snapshot.placement_check.reason})",
                snapshot.placement_check.fix,
            )
        return _failed(found) if found else _rolling(service, rollout)
    if snapshot.endpoints == 0:
        return Verdict("Starting", "EndpointsNotReady", "the pods are ready, and no endpoint of the Service is yet")
    if snapshot.answer is None:
        return Verdict("Starting", "DocumentNotRead", f"GET {service.spec.openapi_path} has not been answered yet")
    if (found := judge_answer(service, snapshot.answer)) is not None:
        return _failed(found)
    return _serving(service, desired, obstacle)


def _scaled_away(snapshot: ServiceSnapshot) -> bool:
    """Whether another client scaled it to zero."""
    return snapshot.rollout is not None and snapshot.rollout.wanted == 0


def _failed(found: Diagnosis) -> Verdict:
    return Verdict("Failed" if found.certain else "Unknown", found.code, found.reason, found.fix, found.failure)


def _rolling(service: Service, rollout: Rollout) -> Verdict:
    message = f"{rollout.available} of {rollout.wanted} pods are ready, {rollout.updated} of today's template"
    if rollout.stalled:
        fix = kubectl(service.namespace, "rollout", "status", f"deployment/{service.name}")
        return Verdict("Failed", "RolloutStalled", f"{message}: {rollout.stalled}", fix)
    return Verdict("Starting", "RollingOut", message)


def _serving(service: Service, desired: Desired, obstacle: Diagnosis | None) -> Verdict:
    if desired.image == service.spec.image:
        reason = "every replica is ready, and its document answers"
        if obstacle is not None:
            return Verdict("Serving", "Serving", f"{reason}; {obstacle.reason}", obstacle.fix)
        return Verdict("Serving", "Serving", reason)
    reason = f"{desired.image} serves; {service.spec.image} did not come up and was rolled back"
    return Verdict("Serving", "RolledBack", reason, patch_service(service, image="<IMAGE>"))


def _status(snapshot: ServiceSnapshot, desired: Desired, verdict: Verdict) -> ServiceStatus:
    before, rollout = snapshot.service.status, snapshot.rollout
    serving = verdict.phase == "Serving"
    document = snapshot.answer.document if snapshot.answer is not None and serving else None
    kept = before.rollout
    status = ServiceStatus(
        observed_generation=snapshot.service.generation,
        phase=verdict.phase,
        reason=verdict.reason,
        fix=verdict.fix,
        url=snapshot.url if serving else "",
        api=ServiceApi(document.title, document.endpoint_count) if document else None,
        rollout=ServiceRollout(
            image=rollout.image if rollout else "",
            replicas=rollout.total if rollout else 0,
            updated=rollout.updated if rollout else 0,
            ready=rollout.ready if rollout else 0,
            last_serving=desired.image if serving else kept.last_serving,
            rolled_back_from=_given_up(snapshot, desired, verdict),
        ),
        failure=verdict.failure,
    )
    return msgspec.structs.replace(status, conditions=compute_conditions(snapshot, desired, verdict, status))


def _given_up(snapshot: ServiceSnapshot, desired: Desired, verdict: Verdict) -> str:
    """The image to give up. It is recorded in the status first; the next reconcile applies the last serving image."""
    spec, kept = snapshot.service.spec, snapshot.service.status.rollout
    if spec.rollback != "LastServing":
        return ""
    if desired.image != spec.image:
        return spec.image
    suspect = snapshot.evidence.pod if snapshot.evidence else None
    created = suspect.created_at if suspect else None
    old_enough = created is not None and snapshot.now - created >= timedelta(seconds=ROLLBACK_SECONDS)
    known = kept.last_serving not in ("", spec.image)
    return spec.image if known and old_enough and verdict.code in _IMAGE_FAILS else ""
