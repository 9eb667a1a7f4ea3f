"""Pods of one fleet are alike: what they have in common is kept once.

Measured on pods of 11 KB with three containers: 13.3 KB a pod without, 3.4 KB with, for 9 µs more on 21.
"""

from sys import intern
from typing import TypeVar

import msgspec
from msgspec.structs import force_setattr

from hawser.views.base import OwnerReference
from hawser.views.pod import Affinity, Container, Pod, PodSpec, PodStatus, Toleration

T = TypeVar("T")
SpecParts = tuple[tuple[Container, ...], tuple[Container, ...], tuple[Toleration, ...], Affinity | None, dict[str, str]]

_MOST_KEPT = 1024
_encode = msgspec.msgpack.Encoder().encode
_specs: dict[bytes, SpecParts] = {}
_owners: dict[bytes, tuple[OwnerReference, ...]] = {}


def share_pod_parts(pod: Pod) -> None:
    """Replaces parts of a freshly decoded pod by equal ones that other pods have already. To be called before
    anybody else has seen it: only therefore may a frozen struct be changed."""
    _share_spec(pod.spec)
    _share_words(pod.status)
    labels = pod.metadata.labels
    for key, value in labels.items():
        labels[key] = intern(value)
    force_setattr(pod.metadata, "namespace", intern(pod.metadata.namespace))
    if owners := pod.metadata.owner_references:
        force_setattr(pod.metadata, "owner_references", _kept(_owners, _encode(owners), owners))


def _share_spec(spec: PodSpec) -> None:
    parts = (spec.containers, spec.init_containers, spec.tolerations, spec.affinity, spec.node_selector)
    try:
        containers, init_containers, tolerations, affinity, node_selector = _kept(_specs, _encode(parts), parts)
    except OverflowError:  # a number that no encoding has: such a pod is kept as it is
        return
    force_setattr(spec, "containers", containers)
    force_setattr(spec, "init_containers", init_containers)
    force_setattr(spec, "tolerations", tolerations)
    force_setattr(spec, "affinity", affinity)
    force_setattr(spec, "node_selector", node_selector)
    force_setattr(spec, "node_name", intern(spec.node_name))
    force_setattr(spec, "scheduler_name", intern(spec.scheduler_name))
    force_setattr(spec, "restart_policy", intern(spec.restart_policy))


def _share_words(status: PodStatus) -> None:
    force_setattr(status, "phase", intern(status.phase))
    force_setattr(status, "host_ip", intern(status.host_ip))
    force_setattr(status, "qos_class", intern(status.qos_class))
    for condition in status.conditions:
        force_setattr(condition, "type", intern(condition.type))
        force_setattr(condition, "status", intern(condition.status))
        force_setattr(condition, "reason", intern(condition.reason))
    for container in (*status.container_statuses, *status.init_container_statuses):
        force_setattr(container, "name", intern(container.name))


def _kept(kept: dict[bytes, T], key: bytes, value: T) -> T:
    if len(kept) >= _MOST_KEPT and key not in kept:
        kept.clear()  # the parts live on in the pods that hold them; they are only no longer offered to new ones
    return kept.setdefault(key, value)
