"""Persistent volumes a pod is tied to, as far as they say on which nodes it can run."""

from collections.abc import Mapping
from dataclasses import dataclass

from mooring.model.fitting.selectors import Object

ZONE_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_SEVERAL_ZONES = "__"


@dataclass(frozen=True, slots=True)
class BoundVolume:
    """A volume behind a bound claim: its required node terms and its zone labels."""

    terms: tuple[Object, ...] | None
    zones: tuple[tuple[str, frozenset[str]], ...]

    def in_zone(self, node_labels: Mapping[str, str]) -> bool:
        """Nodes without zone labels are a single zone: any volume will do."""
        return all(key not in node_labels or node_labels[key] in values for key, values in self.zones)


def read_volume(volume: Object) -> BoundVolume:
    """The constraints of a PersistentVolume."""
    required = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required")
    labels = (volume.get("metadata") or {}).get("labels") or {}
    return BoundVolume(
        terms=None if required is None else tuple(required.get("nodeSelectorTerms") or ()),
        zones=tuple((key, frozenset(labels[key].split(_SEVERAL_ZONES))) for key in ZONE_LABELS if key in labels),
    )
