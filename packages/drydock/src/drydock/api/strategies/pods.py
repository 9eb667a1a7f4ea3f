"""Pods: defaults, quality of service, and the little that may change once they exist."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from drydock.api.answers.causes import forbidden, immutable, invalid
from drydock.api.answers.status import Cause
from drydock.api.apply.managed_fields import stamp
from drydock.api.kinds.kind import Context, Object
from drydock.api.objects.names import dns_subdomain, label_key
from drydock.api.strategies.pod_defaults import default_pod
from drydock.api.strategies.pod_parts import EPHEMERAL, RESIZE, changed_ephemeral, keep_all_but, wrong_resize
from drydock.api.strategies.pod_spec import wrong_pod_spec
from drydock.api.strategies.scheduling import wrong_tolerations
from drydock.api.strategies.split import SplitStrategy, keep
from hawser.quantity import parse_quantity

_QOS_RESOURCES = ("cpu", "memory")
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_LARGEST_INT32 = 2**31 - 1
_CHANGEABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
_GATED = "Scheduling is blocked due to non-empty scheduling gates"


class PodStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        default_pod(new.setdefault("spec", {}))

    def initial_status(self, new: Object, context: Context) -> Object:
        status: Object = {"phase": "Pending", "qosClass": quality_of_service(new["spec"])}
        if new["spec"].get("schedulingGates"):
            condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": _GATED}
            status["conditions"] = [{**condition, "lastProbeTime": None, "lastTransitionTime": stamp(context.now)}]
        return status

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        if not subresource and new.get("spec") == old["spec"]:
            keep("status", new, old)  # labels and annotations change often: nothing else needs a look
            return
        if subresource in (EPHEMERAL, RESIZE):
            keep_all_but(subresource, new, old)
            self.defaults(new)
            return
        super().prepare_update(new, old, subresource, context)

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        match subresource:
            case "ephemeralcontainers":
                return [*self.wrong(new), *changed_ephemeral(new, old)]
            case "resize":
                return [*self.wrong(new), *wrong_resize(new, old, quality_of_service(new["spec"]))]
            case _:
                return super().validate_update(new, old, subresource, context)

    def keep_on_status_update(self, new: Object, old: Object) -> None:
        keep("ownerReferences", new["metadata"], old["metadata"])
        before = old.get("status") or {}
        for name in ("qosClass", "observedGeneration"):
            if name in before and not new["status"].get(name):
                new["status"][name] = before[name]
        _show_always_shown(new["status"])

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec = new["spec"]
        yield from wrong_pod_spec("spec", spec)
        if not spec.get("serviceAccountName"):
            yield from _tokens_without_account(spec)

    def validate_create(self, new: Object, context: Context) -> list[Cause]:
        wrong = list(self.wrong(new))
        spec = new["spec"]
        if spec.get("ephemeralContainers"):
            wrong.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if spec.get("nodeName") and spec.get("schedulingGates"):
            told = "cannot be set until all schedulingGates have been cleared"
            wrong.append(forbidden("spec.nodeName", told))
        return wrong

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        spec, before = new["spec"], old["spec"]
        if spec == before:
            return
        for part in ("containers", "initContainers"):
            if len(spec.get(part) or ()) != len(before.get(part) or ()):
                yield forbidden(f"spec.{part}", "pod updates may not add or remove containers")
                return
        mistakes = list(_wrong_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")))
        yield from mistakes
        if mistakes:
            return
        yield from _changed_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
        yield from _added_gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [])
        if _with_changes_undone(spec, before) != before:
            yield forbidden("spec", f"pod updates may not change fields other than {','.join(_CHANGEABLE)}")

    def wrong_status(self, new: Object, old: Object) -> Iterator[Cause]:
        status, before = new["status"], old.get("status") or {}
        for index, condition in enumerate(status.get("conditions") or ()):
            if condition.get("type") not in _SYSTEM_CONDITIONS:
                kind = condition.get("type", "")
                yield from (invalid(f"status.conditions[{index}].Type", kind, told) for told in label_key(kind))
        nominated = status.get("nominatedNodeName", "")
        if nominated and nominated != before.get("nominatedNodeName"):
            yield from (invalid("status.nominatedNodeName", nominated, told) for told in dns_subdomain(nominated))
        if status.get("qosClass") != before.get("qosClass"):
            yield immutable("status.qosClass", status.get("qosClass"))
        for part in ("containerStatuses", "initContainerStatuses"):
            yield from _revived(f"status.{part}", status.get(part) or [], before.get(part) or [], old["spec"])


def quality_of_service(spec: dict[str, Any]) -> str:
    """Guaranteed when every container has equal requests and limits of cpu and memory, BestEffort without any."""
    totals: dict[str, dict[str, Fraction]] = {"requests": {}, "limits": {}}
    limited = True
    for container in [*spec.get("containers", ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        for section, sums in totals.items():
            for name, amount in _positive(resources.get(section) or {}).items():
                sums[name] = sums.get(name, Fraction(0)) + amount
        limited = limited and len(_positive(resources.get("limits") or {})) == len(_QOS_RESOURCES)
    if not totals["requests"] and not totals["limits"]:
        return "BestEffort"
    return "Guaranteed" if limited and totals["requests"] == totals["limits"] else "Burstable"


def _positive(amounts: dict[str, Any]) -> dict[str, Fraction]:
    parsed = {name: parse_quantity(amounts[name]) for name in _QOS_RESOURCES if name in amounts}
    return {name: amount for name, amount in parsed.items() if amount > 0}


def _show_always_shown(status: dict[str, Any]) -> None:
    """Fields of Go structs without omitempty: there, though empty."""
    for condition in status.get("conditions") or ():
        condition.setdefault("lastProbeTime", None)
        condition.setdefault("lastTransitionTime", None)
    for part in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(part) or ():
            for state in (container.setdefault("state", {}), container.setdefault("lastState", {})):
                if "running" in state:
                    state["running"].setdefault("startedAt", None)
                if "terminated" in state:
                    state["terminated"].setdefault("startedAt", None)
                    state["terminated"].setdefault("finishedAt", None)


def _tokens_without_account(spec: dict[str, Any]) -> Iterator[Cause]:
    for number, volume in enumerate(spec.get("volumes") or ()):
        for index, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                path = f"spec.volumes[{number}].projected.sources[{index}].serviceAccountToken"
                yield forbidden(path, "must not be specified when serviceAccountName is not set")


def _wrong_deadline(seconds: int | None, before: int | None) -> Iterator[Cause]:
    path = "spec.activeDeadlineSeconds"
    if seconds is None:
        if before is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= seconds <= _LARGEST_INT32:
        yield invalid(path, seconds, f"must be between 0 and {_LARGEST_INT32}, inclusive")
    elif before is not None and before < seconds:
        yield invalid(path, seconds, "must be less than or equal to previous value")


def _changed_tolerations(tolerations: list[dict[str, Any]], before: list[dict[str, Any]]) -> Iterator[Cause]:
    def without_seconds(toleration: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    kept = [without_seconds(toleration) for toleration in tolerations]
    if any(without_seconds(toleration) not in kept for toleration in before):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        return
    yield from wrong_tolerations("spec.tolerations", tolerations)


def _added_gates(gates: list[dict[str, Any]], before: list[dict[str, Any]]) -> Iterator[Cause]:
    known = {gate["name"] for gate in before}
    for index, gate in enumerate(gates):
        if gate["name"] not in known:
            told = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", told)


def _with_changes_undone(spec: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """The new spec as if what may change had not."""
    undone = dict(spec)
    for part in ("containers", "initContainers"):
        if spec.get(part):
            pairs = zip(spec[part], before[part], strict=True)
            undone[part] = [{**container, "image": earlier.get("image")} for container, earlier in pairs]
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        keep(name, undone, before)
    seconds = before.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        undone["terminationGracePeriodSeconds"] = seconds
    if before.get("schedulingGates"):
        for name in ("nodeSelector", "affinity"):  # the placement of a gated pod may still change
            keep(name, undone, before)
    return undone


def _revived(
    path: str, statuses: list[dict[str, Any]], before: list[dict[str, Any]], spec: dict[str, Any]
) -> Iterator[Cause]:
    """A container that has ended for good does not run again."""
    containers = {each["name"]: each for part in ("containers", "initContainers") for each in spec.get(part) or ()}
    states = {status.get("name"): status.get("state") or {} for status in statuses}
    for index, earlier in enumerate(before):
        ended = (earlier.get("state") or {}).get("terminated")
        if ended is None or earlier.get("name") not in states or "terminated" in states[earlier["name"]]:
            continue
        own = containers.get(earlier["name"], {})
        if own.get("restartPolicyRules") or _restarts(own.get("restartPolicy") or spec.get("restartPolicy"), ended):
            continue
        yield forbidden(f"{path}[{index}].state", "may not be transitioned to non-terminated state")


def _restarts(policy: str | None, ended: dict[str, Any]) -> bool:
    return policy == "Always" or (policy == "OnFailure" and ended.get("exitCode", 0) != 0)
