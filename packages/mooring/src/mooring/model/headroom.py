"""Headroom of a pool: room for workers that is kept on nodes by placeholder pods of low priority.

Where a node has to come first (Karpenter, cluster-autoscaler), a placeholder makes it come in advance. A worker that
needs the room preempts the placeholder.
"""

import re
from dataclasses import dataclass
from datetime import datetime

import msgspec

from mooring.model.errors import InvalidInput

USUAL_CLASS = "mooring-headroom"
USUAL_IMAGE = "registry.k8s.io/pause:3.10"
# The lowest that makes cluster-autoscaler add a node: it ignores pending pods below its cutoff, which is -10.
CLASS_VALUE = -10
MOST_PLACEHOLDERS = 1000

_CLASS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class Headroom(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """How many more workers have room on nodes, and what holds it."""

    workers: int = 1
    priority_class_name: str = USUAL_CLASS
    image: str = USUAL_IMAGE


class HeadroomStatus(msgspec.Struct, rename="camel", frozen=True):
    """Placeholder pods: those asked for now, those that hold room on a node, those that wait for one."""

    wanted: int = 0
    holding: int = 0
    waiting: int = 0
    because: str = ""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder pod as the cluster shows it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    pool_uid: str
    created_at: datetime
    spec_hash: str
    node: str = ""
    finished: bool = False
    terminating: bool = False


def check_headroom(headroom: Headroom | None, most: int) -> list[InvalidInput]:
    """All errors of `spec.demand.headroom`, each with its field. `most` is `spec.max`."""
    if headroom is None:
        return []
    problems: list[InvalidInput] = []
    high = min(most, MOST_PLACEHOLDERS)
    if not 1 <= headroom.workers <= max(1, high):
        rule = f"between 1 and {high}, the smaller of spec.max and {MOST_PLACEHOLDERS}"
        problems.append(InvalidInput("spec.demand.headroom.workers", headroom.workers, rule))
    if not _CLASS_NAME.fullmatch(headroom.priority_class_name):
        rule = "the name of a PriorityClass"
        problems.append(InvalidInput("spec.demand.headroom.priorityClassName", headroom.priority_class_name, rule))
    if not headroom.image or headroom.image != headroom.image.strip():
        problems.append(InvalidInput("spec.demand.headroom.image", headroom.image, "the name of an image"))
    return problems
