"""Reading and amending whole Kubernetes objects as plain dicts: identity, ownership, times, conditions.

Actors work on whole objects, because a controller must carry fields it does not know.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hawser.views.base import format_time

Object = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for cluster-scoped kinds), name


def key_of(item: Object) -> Key:
    """Where the object lives."""
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def namespace_of(item: Object) -> str:
    return str(item["metadata"].get("namespace", ""))


def name_of(item: Object) -> str:
    return str(item["metadata"]["name"])


def uid_of(item: Object) -> str:
    return str(item["metadata"].get("uid", ""))


def version_of(item: Object) -> int:
    """The resourceVersion as a number; comparable within one resource type only."""
    version = item["metadata"].get("resourceVersion", "")
    return int(version) if version.isdigit() else 0


def labels_of(item: Object) -> Mapping[str, str]:
    return item["metadata"].get("labels") or {}


def annotations_of(item: Object) -> Mapping[str, str]:
    return item["metadata"].get("annotations") or {}


def finalizers_of(item: Object) -> Sequence[str]:
    return item["metadata"].get("finalizers") or ()


def owners_of(item: Object) -> Sequence[Object]:
    return item["metadata"].get("ownerReferences") or ()


def is_terminating(item: Object) -> bool:
    """Whether the object carries a deletionTimestamp."""
    return bool(item["metadata"].get("deletionTimestamp"))


def spec_of(item: Object) -> Object:
    spec: Object | None = item.get("spec")
    return spec if spec is not None else {}


def status_of(item: Object) -> Object:
    status: Object | None = item.get("status")
    return status if status is not None else {}


def controller_of(item: Object) -> Object | None:
    """The owner reference of the one controller, if there is one."""
    for reference in owners_of(item):
        if reference.get("controller"):
            return dict(reference)
    return None


def controller_uid(item: Object) -> str:
    """The controller's uid, or "" for an orphan."""
    for reference in owners_of(item):
        if reference.get("controller"):
            return str(reference.get("uid", ""))
    return ""


def controller_reference(owner: Object, api_version: str, kind: str) -> Object:
    """The reference a controller puts on what it creates."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def moment_of(text: str) -> datetime:
    """A time of the API that has to be there."""
    return datetime.fromisoformat(text)


def optional_moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def created_at(item: Object) -> datetime:
    return moment_of(item["metadata"]["creationTimestamp"])


def find_condition(conditions: Iterable[Object] | None, kind: str) -> Object | None:
    """The condition of that type."""
    for condition in conditions or ():
        if condition.get("type") == kind:
            return condition
    return None


def condition_of(item: Object, kind: str) -> Object | None:
    return find_condition(status_of(item).get("conditions"), kind)


def condition_is_true(item: Object, kind: str) -> bool:
    condition = condition_of(item, kind)
    return condition is not None and condition.get("status") == "True"


def merge_condition(conditions: Sequence[Object] | None, new: Object, now: datetime) -> list[Object] | None:
    """The conditions with `new` in them, or None when nothing would change.

    The transition time moves only when the status does.
    """
    merged: list[Object] = []
    wanted: Object = {"lastTransitionTime": format_time(now), **new}
    found = False
    for condition in conditions or ():
        if condition.get("type") != new["type"]:
            merged.append(condition)
            continue
        found = True
        if condition.get("status") == new["status"]:
            wanted["lastTransitionTime"] = condition.get("lastTransitionTime", wanted["lastTransitionTime"])
            if all(condition.get(name) == value for name, value in wanted.items()):
                return None
        merged.append({**condition, **wanted})
    if not found:
        merged.append(wanted)
    return merged
