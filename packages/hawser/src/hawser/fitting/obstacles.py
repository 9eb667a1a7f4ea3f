"""What keeps a pod off a node, in kube-scheduler's words. Each reason is written here, once."""

import functools
from enum import StrEnum

import msgspec

from hawser.fitting.selectors import Object

_TAINTED = "node(s) had untolerated taint(s)"
NO_NODES = "no nodes available to schedule pods"


class Kind(StrEnum):
    """What stands in the way."""

    CORDON = "cordon"
    NODE_NAME = "node_name"
    TAINT = "taint"
    SELECTOR = "selector"
    PORTS = "ports"
    RESOURCE = "resource"
    VOLUME = "volume"
    SPREAD = "spread"
    AFFINITY = "affinity"


class Obstacle(msgspec.Struct, frozen=True):
    """One reason, and what of the pod or the node it is about."""

    kind: Kind
    reason: str
    preemptible: bool = False  # fewer pods on the node might help
    resource: str = ""  # of which there is too little; "pods" for places
    taint: Object | None = None  # that the pod does not tolerate
    missing: tuple[tuple[str, str], ...] = ()  # labels of the pod's nodeSelector that the node does not carry


CORDONED = Obstacle(Kind.CORDON, "node(s) were unschedulable")
OTHER_NODE = Obstacle(Kind.NODE_NAME, "node(s) didn't match the requested node name")
NOT_SELECTED = Obstacle(Kind.SELECTOR, "node(s) didn't match Pod's node affinity/selector")
PORTS_TAKEN = Obstacle(Kind.PORTS, "node(s) didn't have free ports for the requested pod ports", preemptible=True)
TOO_MANY_PODS = Obstacle(Kind.RESOURCE, "Too many pods", preemptible=True, resource="pods")
VOLUME_ELSEWHERE = Obstacle(Kind.VOLUME, "node(s) didn't match PersistentVolume's node affinity")
VOLUME_ZONE = Obstacle(Kind.VOLUME, "node(s) had no available volume zone")
NOT_NEAR = Obstacle(Kind.AFFINITY, "node(s) didn't match pod affinity rules")
NOT_FAR = Obstacle(Kind.AFFINITY, "node(s) didn't match pod anti-affinity rules", preemptible=True)
REFUSED = Obstacle(Kind.AFFINITY, "node(s) didn't satisfy existing pods anti-affinity rules", preemptible=True)
SKEWED = Obstacle(Kind.SPREAD, "node(s) didn't match pod topology spread constraints", preemptible=True)
UNLABELLED = Obstacle(Kind.SPREAD, f"{SKEWED.reason} (missing required label)")


@functools.cache
def insufficient(resource: str, preemptible: bool) -> Obstacle:
    """Too little of a resource; not preemptible where the pod asks for more than the whole node offers."""
    return Obstacle(Kind.RESOURCE, f"Insufficient {resource}", preemptible, resource)


def untolerated_taint(taint: Object) -> Obstacle:
    return Obstacle(Kind.TAINT, _TAINTED, False, "", taint)


def unselected(missing: tuple[tuple[str, str], ...]) -> Obstacle:
    return Obstacle(Kind.SELECTOR, NOT_SELECTED.reason, missing=missing)
