"""PersistentVolumeClaims, PersistentVolumes and ResourceQuotas."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import forbidden, immutable, invalid, not_supported, required
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object
from drydock.api.objects.names import dns_subdomain, label_key
from drydock.api.patch.json_patch import copy_json
from drydock.api.strategies.resources import COMPUTE, COUNTED, canonical_resources, wrong_quantity
from drydock.api.strategies.selection import wrong_selector
from drydock.api.strategies.split import SplitStrategy
from hawser.quantity import parse_quantity

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_RECLAIM = ("Delete", "Recycle", "Retain")
_QUOTA_NAMES = frozenset(
    [*COMPUTE, *COUNTED, "services.loadbalancers", "services.nodeports", "storage", "requests.storage"]
    + [f"{section}.{name}" for section in ("requests", "limits") for name in COMPUTE]
)
_QUOTA_PREFIXES = ("count/", "requests.hugepages-", "limits.hugepages-")


class ClaimStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        spec = new.setdefault("spec", {})
        spec.setdefault("volumeMode", "Filesystem")
        canonical_resources(spec.setdefault("resources", {}), "requests", "limits")

    def initial_status(self, new: Object, context: Context) -> Object:
        return {"phase": "Pending"}

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec = new["spec"]
        yield from _wrong_modes("spec.accessModes", spec.get("accessModes") or [])
        yield from wrong_selector("spec.selector", spec.get("selector") or {})
        size = (spec["resources"].get("requests") or {}).get("storage")
        if size is None:
            yield required("spec.resources[storage]")
        elif parse_quantity(size) <= 0:
            yield invalid("spec.resources[storage]", size, "must be greater than zero")
        if name := spec.get("storageClassName"):
            yield from (invalid("spec.storageClassName", name, told) for told in dns_subdomain(name))
        if spec["volumeMode"] not in _VOLUME_MODES:
            yield not_supported("spec.volumeMode", spec["volumeMode"], _VOLUME_MODES)

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        spec, before = new["spec"], old["spec"]
        if _as_compared(spec, before, bound=_is_bound(new)) != before:
            told = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
            yield forbidden("spec", f"{told} for bound claims")
        if spec["volumeMode"] != before.get("volumeMode"):
            yield immutable("volumeMode", spec["volumeMode"])


class VolumeStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        spec = new.setdefault("spec", {})
        spec.setdefault("volumeMode", "Filesystem")
        spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
        canonical_resources(spec, "capacity")
        if "hostPath" in spec:
            spec["hostPath"].setdefault("type", "")

    def initial_status(self, new: Object, context: Context) -> Object:
        return {"phase": "Pending"}

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec = new["spec"]
        yield from _wrong_modes("spec.accessModes", spec.get("accessModes") or [])
        if not spec.get("capacity"):
            yield required("spec.capacity")
        if spec["persistentVolumeReclaimPolicy"] not in _RECLAIM:
            yield not_supported("spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"], _RECLAIM)


class QuotaStrategy(SplitStrategy):
    def defaults(self, new: Object) -> None:
        canonical_resources(new.setdefault("spec", {}), "hard")

    def wrong(self, new: Object) -> Iterator[Cause]:
        for name, quantity in (new["spec"].get("hard") or {}).items():
            path = f"spec.hard[{name}]"
            yield from _wrong_quota_name(path, name)
            yield from wrong_quantity(path, "pods" if name.startswith("count/") else name, quantity)

    def wrong_update(self, new: Object, old: Object) -> Iterator[Cause]:
        scopes = new["spec"].get("scopes") or []
        if set(scopes) != set(old["spec"].get("scopes") or []):
            yield immutable("spec.scopes", scopes)


def _wrong_modes(path: str, modes: list[str]) -> Iterator[Cause]:
    if not modes:
        yield required(path, "at least 1 access mode is required")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(path, mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _is_bound(claim: Object) -> bool:
    return bool((claim.get("status") or {}).get("phase") == "Bound")


def _as_compared(spec: dict[str, Any], before: dict[str, Any], *, bound: bool) -> dict[str, Any]:
    """The new spec as if what may change had not: the volume once, and the size of a bound claim."""
    compared: dict[str, Any] = copy_json(spec)
    if not before.get("volumeName"):
        compared.pop("volumeName", None)
    if bound and compared["resources"].get("requests"):
        compared["resources"]["requests"]["storage"] = (before["resources"].get("requests") or {}).get("storage")
    if bound and "volumeAttributesClassName" in before:
        compared["volumeAttributesClassName"] = before["volumeAttributesClassName"]
    return compared


def _wrong_quota_name(path: str, name: str) -> Iterator[Cause]:
    wrong = [invalid(path, name, told) for told in label_key(name)]
    yield from wrong
    if wrong or "/" in name or name in _QUOTA_NAMES or name.startswith(_QUOTA_PREFIXES):
        return
    yield invalid(path, name, "must be a standard resource type or fully qualified")
    yield invalid(path, name, "must be a standard resource for quota")
