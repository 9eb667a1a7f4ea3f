"""The explanation of a pod from what was read about it. It works for every pod, not only for Mooring's own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mooring.model.evidence import Failure, clean_line, describe_crash
from mooring.model.explanation import Explanation, Finding, PodEvent
from mooring.model.preflight import Preflight
from mooring.planning.explanations.pulls import explain_pull
from mooring.planning.services.fixes import kubectl

_PULLING = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
_STARTING = ("", "ContainerCreating", "PodInitializing")
_HELD_BY = {  # events which mean that a pod with a node cannot start
    "FailedMount": "volume_not_mounted",
    "FailedAttachVolume": "volume_not_attached",
    "FailedCreatePodSandBox": "no_sandbox",
}


@dataclass(frozen=True, slots=True)
class Quota:
    """One exhausted line of a quota."""

    name: str
    resource: str
    used: str
    hard: str


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What was read."""

    now: datetime
    pod: Mapping[str, Any]
    events: tuple[PodEvent, ...] = ()
    preflight: Preflight | None = None
    quotas: tuple[Quota, ...] = ()
    failure: Failure | None = None
    unread: tuple[str, ...] = ()


def explain_pod(facts: PodFacts) -> Explanation:
    """All findings, the most serious first; the first finding is the summary."""
    metadata, spec = facts.pod["metadata"], facts.pod.get("spec") or {}
    phase = (facts.pod.get("status") or {}).get("phase") or "Pending"
    node = spec.get("nodeName") or ""
    findings = tuple(_find(facts, phase, node))
    state = _state(facts, phase, node, findings)
    first = findings[0] if findings else None
    return Explanation(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        state=state,
        node=node,
        summary=first.message if first else _all_well(state, node, phase),
        fix=next((one.fix for one in findings if one.fix), ""),
        findings=findings,
        preflight=None if node else facts.preflight,
        events=facts.events,
        failure=facts.failure,
        unread=facts.unread,
        looked_at=facts.now,
    )


def container_in_trouble(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The status of the first container that failed or keeps restarting: its log explains the failure."""
    for status in _container_statuses(pod):
        waiting = (status.get("state") or {}).get("waiting") or {}
        ended = _ended(status)
        if waiting.get("reason") == "CrashLoopBackOff" or (ended and ended.get("exitCode")):
            return status
    return None


def _state(facts: PodFacts, phase: str, node: str, findings: tuple[Finding, ...]) -> str:
    if facts.pod["metadata"].get("deletionTimestamp"):
        return "terminating"
    if phase in ("Succeeded", "Failed"):
        return "finished"
    if not node:
        unscheduled = any(one.code in ("unschedulable", "scheduler_refused") for one in findings)
        return "unschedulable" if unscheduled else "waiting"
    return "running" if phase == "Running" and not findings else "waiting"


def _all_well(state: str, node: str, phase: str) -> str:
    if state == "finished":
        return f"its containers ended: {phase}"
    return (
        f"it runs on {node}" if state == "running" else f"it is starting on {node}" if node else "it waits for a node"
    )


def _find(facts: PodFacts, phase: str, node: str) -> Iterable[Finding]:
    yield from _leaving(facts)
    if phase not in ("Succeeded", "Failed"):
        if not node:
            yield from _unplaced(facts)
        yield from _containers(facts)
        yield from _held(facts)
    elif phase == "Failed":
        yield from _ended_badly(facts)
    for quota in facts.quotas:
        fix = kubectl(facts.pod["metadata"].get("namespace", ""), "describe", "resourcequota", quota.name)
        message = (
            f"the quota {quota.name} is used up: {quota.used} of {quota.hard} {quota.resource}; more pods are refused"
        )
        yield Finding("quota_used_up", message, fix)


def _leaving(facts: PodFacts) -> Iterable[Finding]:
    metadata = facts.pod["metadata"]
    if metadata.get("deletionTimestamp"):
        finalizers = ", ".join(metadata.get("finalizers") or ())
        held = f"; it waits for finalizers {finalizers}" if finalizers else ""
        yield Finding("terminating", f"it is being deleted{held}")


def _unplaced(facts: PodFacts) -> Iterable[Finding]:
    spec = facts.pod.get("spec") or {}
    if gates := [gate.get("name", "") for gate in spec.get("schedulingGates") or ()]:
        message = f"its scheduling gates hold it: {', '.join(gates)}"
        yield Finding("gated", message, "let their owner remove them; the pod is not scheduled before")
        return
    text = _condition(facts.pod, "PodScheduled")
    said = clean_line(text.get("message", "")) if text.get("reason") == "Unschedulable" else ""
    since = text.get("_since")
    preflight = facts.preflight
    for claim in preflight.claims if preflight is not None else ():
        yield Finding(claim.code, claim.message, claim.fix, since)
    if preflight is not None and not preflight.fits:
        yield Finding("unschedulable", preflight.sentence, preflight.fix, since)
    elif said:
        yield _refused(facts, said, since)
    elif not text:
        name = spec.get("schedulerName") or "default-scheduler"
        yield Finding("not_looked_at", f"no scheduler has considered it yet (its scheduler is {name})")
    for event in facts.events:
        if event.source.startswith("karpenter") and event.warning:
            yield Finding("karpenter", f"Karpenter: {event.message}", "", event.last_seen)


def _refused(facts: PodFacts, said: str, since: datetime | None) -> Finding:
    """The scheduler's message is used, unless everything it considers was read here and nothing prevents the pod."""
    metadata, preflight = facts.pod["metadata"], facts.preflight
    message = f"the scheduler says: {said}"
    if preflight is None or preflight.unknown:
        unjudged = f"; not judged here: {'; '.join(preflight.unknown)}" if preflight is not None else ""
        fix = kubectl(metadata.get("namespace", ""), "describe", "pod", metadata["name"])
        return Finding("scheduler_refused", f"{message}{unjudged}", fix, since)
    hint = f"{preflight.fits} of {preflight.total} nodes would take it now"
    return Finding("scheduler_refused", f"{message}; {hint}", "wait for its next look", since)


def _containers(facts: PodFacts) -> Iterable[Finding]:
    metadata = facts.pod["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    images = {one["name"]: one.get("image", "") for one in _containers_of(facts.pod)}
    for status in _container_statuses(facts.pod):
        waiting = (status.get("state") or {}).get("waiting") or {}
        reason, message = waiting.get("reason") or "", clean_line(waiting.get("message") or "")
        container = status["name"]
        if reason in _STARTING:
            continue
        if reason in _PULLING:
            said = " ".join([reason, message, *(event.message for event in facts.events if event.reason == "Failed")])
            yield explain_pull(facts.pod, container, images.get(container, ""), said)
        elif reason == "CreateContainerConfigError":
            fix = kubectl(namespace, "get", "configmaps,secrets")
            yield Finding("config_missing", f"container {container} cannot be configured: {message}", fix)
        elif reason == "CrashLoopBackOff":
            yield _crash(facts, status, namespace, name)
        else:
            fix = kubectl(namespace, "describe", "pod", name)
            yield Finding("not_starting", f"container {container} does not start: {reason}: {message}", fix)


def _crash(facts: PodFacts, status: Mapping[str, Any], namespace: str, name: str) -> Finding:
    ended = _ended(status) or {}
    lines = facts.failure.logs if facts.failure else ()
    words = next((line for line in reversed(lines) if line.strip()), "its log was not read")
    crash = describe_crash(ended.get("exitCode", 0), status.get("restartCount", 0))
    message = f"container {status['name']} {crash}: {words}"
    return Finding("crash_looping", message, kubectl(namespace, "logs", name, "-c", status["name"], "--previous"))


def _held(facts: PodFacts) -> Iterable[Finding]:
    namespace, name = facts.pod["metadata"].get("namespace", ""), facts.pod["metadata"]["name"]
    ready = _condition(facts.pod, "Ready").get("status") == "True"
    for event in facts.events:
        if ready or not event.warning:
            continue
        if code := _HELD_BY.get(event.reason):
            yield Finding(code, event.message, kubectl(namespace, "describe", "pod", name), event.last_seen)
        elif event.reason == "Unhealthy":
            fix = kubectl(namespace, "logs", name, "--tail=60")
            yield Finding("probe_failing", event.message, fix, event.last_seen)


def _ended_badly(facts: PodFacts) -> Iterable[Finding]:
    status = facts.pod.get("status") or {}
    message = clean_line(f"{status.get('reason') or 'Failed'}: {status.get('message') or 'its containers failed'}")
    metadata = facts.pod["metadata"]
    yield Finding("failed", message, kubectl(metadata.get("namespace", ""), "logs", metadata["name"], "--tail=60"))


def _condition(pod: Mapping[str, Any], kind: str) -> dict[str, Any]:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == kind:
            since = condition.get("lastTransitionTime")
            return {**condition, "_since": datetime.fromisoformat(since) if since else None}
    return {}


def _containers_of(pod: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    spec = pod.get("spec") or {}
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _container_statuses(pod: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    status = pod.get("status") or {}
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()


def _ended(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for state in ("state", "lastState"):
        if ended := (status.get(state) or {}).get("terminated"):
            return dict(ended)
    return None
