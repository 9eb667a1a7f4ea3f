"""Keep a service serving: what to apply, and a verdict that never says more than was seen.

`Serving` needs a complete rollout, ready endpoints, and a document that parses. What cannot be read is `Unknown`.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from mooring.model.evidence import Failure
from mooring.model.service import Phase, Service, ServiceApi, ServiceRollout, ServiceStatus
from mooring.model.serving import Answer, PodEvidence, Rollout, ServicePod
from mooring.planning.placement import Placed
from mooring.planning.services.conditions import admit_unknown, compute_conditions
from mooring.planning.services.diagnosis import REPLICAS_TAKEN, Diagnosis, diagnose, judge_answer
from mooring.planning.services.fixes import kubectl, patch_service
from mooring.planning.services.preflight import Berth

SCHEDULABLE = "schedulable"
ROLLBACK_SECONDS = 60.0  # that a new image may fail before the last serving one comes back
# What another image can change; a quota or a missing key it cannot.
_IMAGE_FAILS = frozenset(
    {"ImageUnauthorized", "ImageNotFound", "RegistryUnreachable", "ImageNameInvalid", "ImagePullFailed"}
    | {"CrashLooping", "StartRefused", "PortMismatch", "ProbeFailing", "DocumentNotFound", "DocumentInvalid"}
)
_LOOK_AGAIN_SECONDS: dict[Phase, float] = {"Starting": 3.0, "Serving": 30.0, "Failed": 10.0, "Unknown": 5.0}


@dataclass(frozen=True, slots=True)
class Desired:
    """What the service's objects are to be."""

    image: str
    spec_hash: str
    placed: Placed


@dataclass(frozen=True, slots=True)
class ServiceSnapshot:
    """All that the decision may look at."""

    now: datetime
    service: Service
    berth: Berth
    rollout: Rollout | None = None  # None: there is no Deployment
    attached: bool = False  # its Service and its budget are as they are to be
    pods: tuple[ServicePod, ...] = ()
    endpoints: int = 0  # that are ready
    evidence: PodEvidence | None = None
    answer: Answer | None = None  # of a ready pod of today's template
    url: str = ""
    problems: tuple[str, ...] = ()  # what is wrong with the spec
    obstacle: Diagnosis | None = None  # why the objects could not be applied at the last attempt
    unreadable: str = ""  # what could not be read, for longer than a hiccup
    preflight_paused: str = ""


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What to apply, what to say, and when to look again."""

    apply: Desired | None
    status: ServiceStatus
    wake_at: datetime | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A phase, and why."""

    phase: Phase
    code: str
    reason: str
    fix: str = ""
    failure: Failure | None = None


def desired_state(service: Service, berth: Berth) -> Desired:
    """The template of today: the image asked for, or the one a rollback went back to."""
    spec, rollout = service.spec, service.status.rollout
    given_up = spec.rollback == "LastServing" and rollout.last_serving and rollout.rolled_back_from == spec.image
    image = rollout.last_serving if given_up else spec.image
    # What placement derives from the nodes is left out: nodes come and go, and that must not roll a service.
    parts = (image, spec.command, spec.args, spec.port, spec.openapi_path, spec.env, spec.placement)
    spec_hash = hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]
    return Desired(image, spec_hash, berth.placed)


def plan_service(snapshot: ServiceSnapshot) -> ServicePlan:
    """Decide what to apply and what to say."""
    desired = desired_state(snapshot.service, snapshot.berth)
    refused = _refuse(snapshot, desired)
    apply = None if refused or snapshot.service.terminating or not _differs(snapshot, desired) else desired
    verdict = refused or _judge(snapshot, desired)
    status = _status(snapshot, desired, verdict)
    return ServicePlan(apply, status, snapshot.now + timedelta(seconds=_LOOK_AGAIN_SECONDS.get(verdict.phase, 60.0)))


def admit_failure(service: Service, told: str, now: datetime) -> ServiceStatus:
    """What is left to say when looking after it failed: what was known of it is not known any more."""
    before = service.status
    reason = f"Mooring could not look after it: {told}"
    return ServiceStatus(
        observed_generation=service.generation,
        phase="Unknown",
        reason=reason,
        fix="mooring doctor",
        rollout=before.rollout,
        conditions=admit_unknown(before.conditions, reason, service.generation, now),
    )


def _refuse(snapshot: ServiceSnapshot, desired: Desired) -> Verdict | None:
    """Why nothing may be applied."""
    if snapshot.unreadable:
        return Verdict("Unknown", "Unreadable", snapshot.unreadable, "mooring doctor")
    if snapshot.problems:
        fix = kubectl(snapshot.service.namespace, "edit", "managedservice", snapshot.service.name)
        return Verdict("Failed", "InvalidSpec", "; ".join(snapshot.problems), fix)
    new_pods = snapshot.rollout is None or snapshot.rollout.spec_hash != desired.spec_hash
    berth = snapshot.berth
    if new_pods and snapshot.service.spec.replicas and not berth.fits and not snapshot.preflight_paused:
        reason = f"{berth.reason}; nothing was applied"
        return Verdict("Failed", "Unschedulable", reason, berth.fix)
    return None


def _differs(snapshot: ServiceSnapshot, desired: Desired) -> bool:
    rollout, spec = snapshot.rollout, snapshot.service.spec
    if rollout is None or not snapshot.attached:
        return True
    if (rollout.spec_hash, rollout.image, rollout.wanted) != (desired.spec_hash, desired.image, spec.replicas):
        return True
    # Taints and labels moved on, and pods wait for a node on the old terms.
    moved = rollout.placement != desired.placed.fingerprint
    return moved and snapshot.berth.fits and any(pod.unschedulable for pod in _current(snapshot, desired))


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
        if found is not None and found.code == "Unschedulable" and not snapshot.berth.fits:
            return Verdict("Failed", found.code, f"{found.reason} ({snapshot.berth.reason})", snapshot.berth.fix)
        return _failed(found) if found else _rolling(service, rollout)
    if snapshot.endpoints == 0:
        return Verdict("Starting", "EndpointsNotReady", "the pods are ready, and no endpoint of the Service is yet")
    if snapshot.answer is None:
        return Verdict("Starting", "DocumentNotRead", f"GET {service.spec.openapi_path} has not been answered yet")
    if (found := judge_answer(service, snapshot.answer)) is not None:
        return _failed(found)
    return _serving(service, desired, obstacle)


def _scaled_away(snapshot: ServiceSnapshot) -> bool:
    """Whether somebody else scaled it to nothing."""
    return snapshot.rollout is not None and snapshot.rollout.wanted == 0


def _failed(found: Diagnosis) -> Verdict:
    return Verdict("Failed" if found.certain else "Unknown", found.code, found.reason, found.fix, found.failure)


def _rolling(service: Service, rollout: Rollout) -> Verdict:
    told = f"{rollout.available} of {rollout.wanted} pods are ready, {rollout.updated} of today's template"
    if rollout.stalled:
        fix = kubectl(service.namespace, "rollout", "status", f"deployment/{service.name}")
        return Verdict("Failed", "RolloutStalled", f"{told}: {rollout.stalled}", fix)
    return Verdict("Starting", "RollingOut", told)


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
    """The image that is given up. It is written down first; the next pass applies the one that served last."""
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
