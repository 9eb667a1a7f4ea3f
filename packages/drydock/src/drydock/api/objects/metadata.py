"""What all kinds share: names, labels, annotations, finalizers, owners, and what an update may not change."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import forbidden, immutable, invalid, required, too_long
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Kind, Object
from drydock.api.objects.names import (
    NameCheck,
    as_prefix,
    dns_label,
    dns_subdomain,
    label_key,
    label_value,
    path_segment,
)

MAX_ANNOTATIONS_BYTES = 256 * 1024
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_RBAC = "rbac.authorization.k8s.io"
_NAME_CHECKS: dict[tuple[str, str], NameCheck] = {
    ("", "Namespace"): dns_label,
    ("", "Service"): dns_label,
    (_RBAC, "ClusterRole"): path_segment,
    (_RBAC, "ClusterRoleBinding"): path_segment,
    (_RBAC, "Role"): path_segment,
    (_RBAC, "RoleBinding"): path_segment,
    ("policy", "PodDisruptionBudget"): path_segment,
}
_LENIENT_FINALIZER_GROUPS = frozenset({"coordination.k8s.io", "node.k8s.io", "apiextensions.k8s.io", "policy", _RBAC})
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate_metadata(kind: Kind, new: Object, old: Object | None = None) -> list[Cause]:
    """What is wrong with an object's metadata, when it is created (`old` is None) or updated."""
    metadata = new.get("metadata") or {}
    wrong: list[Cause] = []
    if old is None:
        wrong += _wrong_names(kind, metadata)
        wrong += _wrong_scope(kind, metadata)
    if metadata.get("generation", 0) < 0:
        wrong.append(invalid("metadata.generation", metadata["generation"], "must be greater than or equal to 0"))
    wrong += wrong_labels("metadata.labels", metadata.get("labels"))
    wrong += _wrong_annotations(metadata.get("annotations") or {})
    wrong += _wrong_owners(metadata.get("ownerReferences") or [])
    wrong += _wrong_finalizers(kind, metadata.get("finalizers") or [])
    if old is not None:
        wrong += _changed_in_vain(metadata, old.get("metadata") or {})
    return wrong


def wrong_labels(path: str, labels: Any) -> Iterator[Cause]:
    for key, value in (labels or {}).items():
        yield from (invalid(path, key, told) for told in label_key(key))
        yield from (invalid(path, value, told) for told in label_value(value))


def _wrong_names(kind: Kind, metadata: dict[str, Any]) -> Iterator[Cause]:
    check = _NAME_CHECKS.get((kind.group, kind.kind), dns_subdomain)
    if base := metadata.get("generateName"):
        yield from (invalid("metadata.generateName", base, told) for told in as_prefix(check)(base))
    name = metadata.get("name") or ""
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    yield from (invalid("metadata.name", name, told) for told in check(name))


def _wrong_scope(kind: Kind, metadata: dict[str, Any]) -> Iterator[Cause]:
    namespace = metadata.get("namespace") or ""
    if not kind.namespaced:
        if namespace:
            yield forbidden("metadata.namespace", "not allowed on this type")
    elif not namespace:
        yield required("metadata.namespace")
    else:
        yield from (invalid("metadata.namespace", namespace, told) for told in dns_label(namespace))


def _wrong_annotations(annotations: dict[str, str]) -> Iterator[Cause]:
    path = "metadata.annotations"
    for key in annotations:
        yield from (invalid(path, key, told) for told in label_key(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS_BYTES:
        yield too_long(path, MAX_ANNOTATIONS_BYTES)


def _wrong_owners(owners: list[dict[str, Any]]) -> Iterator[Cause]:
    path = "metadata.ownerReferences"
    controller = ""
    for owner in owners:
        version = owner.get("apiVersion") or ""
        if not version.rpartition("/")[2]:
            yield invalid(f"{path}.apiVersion", version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
        if (version, owner.get("kind")) == ("v1", "Event"):
            yield invalid(path, _in_order(owner), "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            here = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                told = f'Found "true" in references for {controller} and {here}'
                listed = [_in_order(each) for each in owners]
                yield invalid(path, listed, f"Only one reference can have Controller set to true. {told}")
            controller = controller or here


def _in_order(owner: dict[str, Any]) -> dict[str, Any]:
    fields = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return {field: owner[field] for field in fields if field in owner}


def _wrong_finalizers(kind: Kind, finalizers: list[str]) -> Iterator[Cause]:
    path = "metadata.finalizers"
    for finalizer in finalizers:
        yield from (invalid(path, finalizer, told) for told in label_key(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        yield invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set")
    if kind.custom or kind.group in _LENIENT_FINALIZER_GROUPS:
        return
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            told = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"{path}[{index}]", finalizer, told)


def _changed_in_vain(metadata: dict[str, Any], stored: dict[str, Any]) -> Iterator[Cause]:
    if stored.get("deletionTimestamp"):
        extra = sorted(set(metadata.get("finalizers") or []) - set(stored.get("finalizers") or []))
        if extra:
            listed = ", ".join(f'"{name}"' for name in extra)
            told = "no new finalizers can be added if the object is being deleted, found new finalizers"
            yield forbidden("metadata.finalizers", f"{told} []string{{{listed}}}")
    for name in _IMMUTABLE:
        value = metadata.get(name)
        if value != stored.get(name) and (value or stored.get(name) or value == 0):
            yield immutable(f"metadata.{name}", value)
