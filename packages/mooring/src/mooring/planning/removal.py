"""What `mooring uninstall` takes off the objects of users: protection first, then stamps. The work itself stays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mooring.model.protection import PROTECTION_ANNOTATIONS, PROTECTION_LABELS, STAMP_ANNOTATIONS, STAMP_LABELS


@dataclass(frozen=True, slots=True)
class MarkedPod:
    """A worker's pod as it was read."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def plan_unprotect(pod: MarkedPod) -> dict[str, Any] | None:
    """The patch that ends the protection; None if Mooring has not protected the pod.

    Mooring sets its label together with the annotations. Without the label they come from the user's template.
    """
    if not pod.labels.keys() & PROTECTION_LABELS.keys():
        return None
    return _patch(pod, PROTECTION_LABELS, PROTECTION_ANNOTATIONS)


def plan_unstamp(pod: MarkedPod) -> dict[str, Any] | None:
    """The patch that removes the stamp; None without one. The last tenant stays: it decides who may come next."""
    return _patch(pod, STAMP_LABELS, STAMP_ANNOTATIONS)


def _patch(pod: MarkedPod, labels: Iterable[str], annotations: Iterable[str]) -> dict[str, Any] | None:
    found = {
        "labels": {key: None for key in labels if key in pod.labels},
        "annotations": {key: None for key in annotations if key in pod.annotations},
    }
    if not any(found.values()):
        return None
    fence = {"uid": pod.uid, "resourceVersion": pod.resource_version}
    return {"metadata": {**fence, **{field: keys for field, keys in found.items() if keys}}}
