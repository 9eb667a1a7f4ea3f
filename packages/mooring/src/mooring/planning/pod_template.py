"""The pod that Mooring makes, with its owner's PodTemplate merged in: the same way for every kind."""

from typing import Any

import msgspec

from mooring.model.pod_template import PodTemplate

Body = dict[str, Any]

_CONTAINERS = ("initContainers", "containers")
# Fields of the template that go into every container, by the name they have there.
_IN_CONTAINERS = {
    "resources": "resources",
    "imagePullPolicy": "imagePullPolicy",
    "containerSecurityContext": "securityContext",
}
_ADDED_TO_CONTAINERS = ("volumeMounts", "envFrom")
# Written by other means: metadata, and what follows from the placement.
_ELSEWHERE = frozenset({"labels", "annotations", "nodeSelector", "tolerations", "volumes"})


def shape_pod(template: PodTemplate, pod: Body) -> Body:
    """`pod` (its metadata and spec, as Mooring needs them) with the template added.

    A field that Mooring sets stays: what an owner may not change was refused as a conflict before. The template's
    selector and tolerations are part of the placement (`PodTemplate.placement`).
    """
    added: Body = msgspec.json.decode(msgspec.json.encode(template))
    if not added:
        return pod
    metadata, spec = dict(pod.get("metadata") or {}), dict(pod["spec"])
    for section in ("labels", "annotations"):
        if merged := {**added.get(section, {}), **(metadata.get(section) or {})}:
            metadata[section] = merged
    if volumes := [*(spec.get("volumes") or ()), *added.get("volumes", ())]:
        spec["volumes"] = volumes
    for section in _CONTAINERS:
        if spec.get(section):
            spec[section] = [_shape_container(added, container) for container in spec[section]]
    for name, value in added.items():
        if name not in _ELSEWHERE and name not in _IN_CONTAINERS and name not in _ADDED_TO_CONTAINERS:
            spec.setdefault(name, value)
    return {**pod, "metadata": metadata, "spec": spec}


def _shape_container(added: Body, container: Body) -> Body:
    shaped = dict(container)
    for name, inside in _IN_CONTAINERS.items():
        if name in added:
            shaped.setdefault(inside, added[name])
    for name in _ADDED_TO_CONTAINERS:
        if name in added:
            shaped[name] = [*(container.get(name) or ()), *added[name]]
    return shaped
