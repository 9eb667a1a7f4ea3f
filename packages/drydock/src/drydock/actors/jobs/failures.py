"""A Job's pod failure policy: what one failed pod means for the whole Job."""

from collections.abc import Sequence
from dataclasses import dataclass

from drydock.actors.machinery.objects import Object, is_terminating, name_of, namespace_of, spec_of, status_of
from drydock.actors.machinery.pods import phase_of


@dataclass(frozen=True, slots=True)
class Consequence:
    """What the policy says of a failed pod."""

    counts: bool = True  # towards backoffLimit
    fails_job: str = ""  # the message, when the Job fails at once


def waits_for_the_end(job: Object) -> bool:
    """Whether a pod is replaced only once it has really ended, not while it terminates."""
    spec = spec_of(job)
    return spec.get("podReplacementPolicy") == "Failed" or bool(spec.get("podFailurePolicy"))


def is_failed(job: Object, pod: Object) -> bool:
    """Whether the Job counts the pod as failed: a deleted pod may never get to say so itself."""
    if phase_of(pod) == "Failed":
        return True
    return not waits_for_the_end(job) and is_terminating(pod) and phase_of(pod) != "Succeeded"


def consequence_of(job: Object, pod: Object) -> Consequence:
    """The first rule that matches decides; without one the failure counts."""
    rules: Sequence[Object] = (spec_of(job).get("podFailurePolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        told = _match(rule, pod)
        if told:
            return _apply(rule["action"], f"{told} matching {rule['action']} rule at index {number}")
    return Consequence()


def _apply(action: str, message: str) -> Consequence:
    match action:
        case "Ignore":
            return Consequence(counts=False)
        case "FailJob":
            return Consequence(fails_job=message)
    return Consequence()


def _match(rule: Object, pod: Object) -> str:
    """What of the pod matched the rule, as the beginning of a sentence."""
    place = f"{namespace_of(pod)}/{name_of(pod)}"
    if (on_exit := rule.get("onExitCodes")) is not None:
        container = _container_with_exit(on_exit, pod)
        if container is None:
            return ""
        code = container["state"]["terminated"]["exitCode"]
        return f"Container {container['name']} for pod {place} failed with exit code {code}"
    for condition in status_of(pod).get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if condition["type"] == pattern["type"] and condition["status"] == pattern.get("status", "True"):
                return f"Pod {place} has condition {condition['type']}"
    return ""


def _container_with_exit(wanted: Object, pod: Object) -> Object | None:
    status = status_of(pod)
    for one in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        terminated = (one.get("state") or {}).get("terminated")
        if not terminated or not terminated.get("exitCode"):
            continue
        if wanted.get("containerName") not in (None, one["name"]):
            continue
        if (terminated["exitCode"] in wanted["values"]) == (wanted["operator"] == "In"):
            return dict(one)
    return None
