"""Persistent volumes a pod is tied to, as far as they say on which nodes it can run."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hawser.fitting.selectors import Object

ZONE_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_SEVERAL_ZONES = "__"
_BOUND = "pv.kubernetes.io/bind-completed"
_CLASS = "volume.beta.kubernetes.io/storage-class"


class Unbound(StrEnum):
    """Why there is no volume behind a claim."""

    MISSING = "missing"  # there is no such claim
    LEAVING = "leaving"  # it is being deleted
    LOST = "lost"  # its volume is gone
    IMMEDIATE = "unbound"  # it is to be bound before any pod uses it, and is not
    LATER = "waiting"  # it is bound where its first pod goes
    UNCLEAR = "unclear"  # it could not be read which of the two


@dataclass(frozen=True, slots=True)
class BoundVolume:
    """A volume behind a bound claim: its required node terms and its zone labels."""

    terms: tuple[Object, ...] | None
    zones: tuple[tuple[str, frozenset[str]], ...]

    def in_zone(self, node_labels: Mapping[str, str]) -> bool:
        """Nodes without zone labels are a single zone: any volume will do."""
        return all(key not in node_labels or node_labels[key] in values for key, values in self.zones)


def volume_name(claim: Object) -> str:
    """The volume that the claim is bound to, by both sides; empty while it is not."""
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    complete = _BOUND in ((claim.get("metadata") or {}).get("annotations") or {})
    return str(spec.get("volumeName") or "") if complete or status.get("phase") in ("Bound", "Lost") else ""


def class_name(claim: Object) -> str:
    """The storage class that the claim asks for; empty when it takes only volumes of none."""
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(_CLASS) or (claim.get("spec") or {}).get("storageClassName") or "")


def classify_unbound(claim: Object, binding_mode: str) -> Unbound:
    """A claim that is bound to nothing, by when its class binds; no mode: that was not read."""
    if (claim.get("metadata") or {}).get("deletionTimestamp"):
        return Unbound.LEAVING
    match binding_mode:
        case "Immediate":
            return Unbound.IMMEDIATE
        case "WaitForFirstConsumer":
            return Unbound.LATER
    return Unbound.UNCLEAR


def read_volume(volume: Object) -> BoundVolume:
    """The constraints of a PersistentVolume."""
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required")
    labels = (volume.get("metadata") or {}).get("labels") or {}
    return BoundVolume(
        terms=None if required is None else tuple(required.get("nodeSelectorTerms") or ()),
        zones=tuple((key, frozenset(labels[key].split(_SEVERAL_ZONES))) for key in ZONE_LABELS if key in labels),
    )
