"""Nodes, Namespaces and PriorityClasses."""

from collections.abc import Iterator, Sequence
from typing import Any

from drydock.api.answers.causes import forbidden, immutable, invalid, not_supported, required, show
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object, PlainStrategy
from drydock.api.objects.names import label_key, label_value
from drydock.api.strategies.resources import canonical_resources, wrong_quantity
from drydock.api.strategies.scheduling import TAINT_EFFECTS
from drydock.api.strategies.split import SplitStrategy, keep, show_times

_HIGHEST_USER_PRIORITY = 1_000_000_000
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTION = ("PreemptLowerPriority", "Never")
_NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"


class NodeStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        new.setdefault("spec", {})

    def prepare_create(self, new: Object, context: Context) -> None:
        self.defaults(new)
        _default_node_status(new.setdefault("status", {}))

    def keep_on_status_update(self, new: Object, old: Object) -> None:
        _default_node_status(new["status"])
        show_times(new["status"].get("conditions"), "lastHeartbeatTime", "lastTransitionTime")

    def wrong(self, new: Object) -> Iterator[Cause]:
        yield from _wrong_taints("metadata.taints", new["spec"].get("taints") or [])
        yield from _wrong_capacity(new.get("status") or {})

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        spec, before = new["spec"], old.get("spec") or {}
        if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
            yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
        if before.get("providerID") and spec.get("providerID") != before["providerID"]:
            yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')

    def wrong_status(self, new: Object, old: Object) -> Iterator[Cause]:
        yield from _wrong_capacity(new["status"])
        addresses = new["status"].get("addresses") or []
        for index, address in enumerate(addresses):
            if address in addresses[:index]:
                told = f"Duplicate value: {show(address)}"
                yield Cause("FieldValueDuplicate", told, f"status.addresses[{index}]")


class NamespaceStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        name = new["metadata"].get("name")
        if name:
            new["metadata"]["labels"] = {**(new["metadata"].get("labels") or {}), _NAME_LABEL: name}

    def on_create(self, new: Object, context: Context) -> None:
        finalizers = new.setdefault("spec", {}).setdefault("finalizers", [])
        if _FINALIZER not in finalizers:
            finalizers.append(_FINALIZER)

    def initial_status(self, new: Object, context: Context) -> Object:
        return {"phase": "Active"}

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        super().prepare_update(new, old, subresource, context)
        if not subresource:
            keep("finalizers", new.setdefault("spec", {}), old.get("spec") or {})

    def wrong_status(self, new: Object, old: Object) -> Iterator[Cause]:
        phase = new["status"].get("phase") or "Active"
        ending = "deletionTimestamp" in new["metadata"]
        if not ending and phase != "Active":
            yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
        if ending and phase != "Terminating":
            yield invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")


class PriorityClassStrategy(PlainStrategy):
    def prepare_create(self, new: Object, context: Context) -> None:
        new.setdefault("value", 0)
        new["metadata"]["generation"] = 1
        new["preemptionPolicy"] = new.get("preemptionPolicy") or "PreemptLowerPriority"

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        self.prepare_create(new, context)

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return list(_wrong_priority(new))

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        wrong = []
        if new["value"] != old["value"]:
            wrong.append(forbidden("value", "may not be changed in an update."))
        if new["preemptionPolicy"] != old.get("preemptionPolicy"):
            wrong.append(immutable("preemptionPolicy", new["preemptionPolicy"]))
        return wrong


def _default_node_status(status: dict[str, Any]) -> None:
    if "allocatable" not in status and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])
    canonical_resources(status, "capacity", "allocatable")
    endpoints = status.setdefault("daemonEndpoints", {})
    endpoints.setdefault("kubeletEndpoint", {"Port": 0})
    info = status.setdefault("nodeInfo", {})
    for name in _NODE_INFO:
        info.setdefault(name, "")


_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def _wrong_capacity(status: dict[str, Any]) -> Iterator[Cause]:
    for name, quantity in (status.get("capacity") or {}).items():
        yield from wrong_quantity(f"status.capacity.{name}", name, quantity)


def _wrong_taints(path: str, taints: list[dict[str, Any]]) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here = f"{path}[{index}]"
        key, effect, value = taint.get("key", ""), taint.get("effect", ""), taint.get("value", "")
        yield from (invalid(f"{here}.key", key, told) for told in label_key(key))
        if wrong := label_value(value):
            yield invalid(f"{here}.value", value, ";".join(wrong))
        if not effect:
            yield required(f"{here}.effect")
        elif effect not in TAINT_EFFECTS:
            yield not_supported(f"{here}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            told = f"Duplicate value: {show(_as_struct(taint))}: taints must be unique by key and effect pair"
            yield Cause("FieldValueDuplicate", told, here)
        seen.add((key, effect))


def _as_struct(taint: dict[str, Any]) -> dict[str, Any]:
    return {
        "Key": taint.get("key", ""),
        "Value": taint.get("value", ""),
        "Effect": taint.get("effect", ""),
        "TimeAdded": taint.get("timeAdded"),
    }


def _wrong_priority(priority: Object) -> Iterator[Cause]:
    name, value = priority["metadata"].get("name", ""), priority["value"]
    if name.startswith("system-"):
        if _SYSTEM_PRIORITIES.get(name) != value:
            told = "priority class names with 'system-' prefix are reserved for system use only."
            reason = (
                f"value of {name} PriorityClass must be {_SYSTEM_PRIORITIES[name]}"
                if name in _SYSTEM_PRIORITIES
                else (f"{name} is not a known system priority class")
            )
            yield forbidden("metadata.name", f"{told} error: {reason}")
    elif value > _HIGHEST_USER_PRIORITY:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}")
    if priority["preemptionPolicy"] not in _PREEMPTION:
        yield not_supported("preemptionPolicy", priority["preemptionPolicy"], _PREEMPTION)
