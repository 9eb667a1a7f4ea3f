"""The rules for a pod spec, be it of a pod or of a template."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import duplicate, forbidden, invalid, not_supported, too_long
from drydock.api.answers.status import Cause
from drydock.api.objects.metadata import MAX_ANNOTATIONS_BYTES, wrong_labels
from drydock.api.objects.names import NameCheck, dns_label, dns_subdomain, label_key
from drydock.api.strategies.containers import wrong_containers
from drydock.api.strategies.scheduling import wrong_affinity, wrong_spreading, wrong_tolerations
from drydock.api.strategies.volumes import wrong_volumes

_LARGEST_INT32 = 2**31 - 1
_CHOICES = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
}
_PREEMPTION = ("PreemptLowerPriority", "Never")
_NAMES: dict[str, NameCheck] = {
    "serviceAccountName": dns_subdomain,
    "nodeName": dns_subdomain,
    "hostname": dns_label,
    "subdomain": dns_label,
    "priorityClassName": dns_subdomain,
    "runtimeClassName": dns_subdomain,
}


def wrong_pod_spec(path: str, spec: dict[str, Any]) -> Iterator[Cause]:
    mistakes, volumes = wrong_volumes(f"{path}.volumes", spec.get("volumes") or [])
    yield from mistakes
    yield from wrong_containers(path, spec, volumes)
    for name, choices in _CHOICES.items():
        if spec.get(name) not in choices:
            yield not_supported(f"{path}.{name}", spec.get(name), choices)
    yield from wrong_labels(f"{path}.nodeSelector", spec.get("nodeSelector"))
    yield from wrong_affinity(f"{path}.affinity", spec.get("affinity") or {})
    yield from _wrong_gates(f"{path}.schedulingGates", spec.get("schedulingGates") or [])
    yield from wrong_spreading(f"{path}.topologySpreadConstraints", spec.get("topologySpreadConstraints") or [])
    for name, check in _NAMES.items():
        if value := spec.get(name):
            yield from (invalid(f"{path}.{name}", value, told) for told in check(value))
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _LARGEST_INT32:
        yield invalid(f"{path}.activeDeadlineSeconds", seconds, f"must be between 1 and {_LARGEST_INT32}, inclusive")
    yield from wrong_tolerations(f"{path}.tolerations", spec.get("tolerations") or [])
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy not in _PREEMPTION:
        yield not_supported(f"{path}.preemptionPolicy", policy, _PREEMPTION)


def wrong_template(path: str, template: dict[str, Any]) -> Iterator[Cause]:
    """What is wrong with a workload's pod template."""
    metadata = template.get("metadata") or {}
    yield from wrong_labels(f"{path}.labels", metadata.get("labels"))
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        yield from (invalid(f"{path}.annotations", key, told) for told in label_key(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS_BYTES:
        yield too_long(f"{path}.annotations", MAX_ANNOTATIONS_BYTES)
    spec = template.get("spec") or {}
    yield from wrong_pod_spec(f"{path}.spec", spec)
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def _wrong_gates(path: str, gates: list[dict[str, Any]]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        yield from (invalid(f"{path}[{index}]", name, told) for told in label_key(name))
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)
