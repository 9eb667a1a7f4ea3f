"""The parts of a pod that change through an endpoint of their own: debugging containers, and resources in place."""

from collections.abc import Iterator
from typing import Any

from drydock.api.answers.causes import forbidden, invalid
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Object
from drydock.api.patch.json_patch import copy_json

EPHEMERAL = "ephemeralcontainers"
RESIZE = "resize"
_RESIZABLE = ("cpu", "memory")
_UNTOUCHED = (
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)


def keep_all_but(part: str, new: Object, old: Object) -> None:
    """Undo, in place, what the endpoint of that part cannot change."""
    sent = new.get("spec") or {}
    new["spec"], new["status"] = copy_json(old["spec"]), copy_json(old.get("status") or {})
    for name in _UNTOUCHED:
        new["metadata"].pop(name, None)
        if name in old["metadata"]:
            new["metadata"][name] = copy_json(old["metadata"][name])
    if part == EPHEMERAL:
        new["spec"]["ephemeralContainers"] = sent.get("ephemeralContainers") or []
        return
    for name in ("containers", "initContainers"):
        wanted = {container.get("name"): container for container in sent.get(name) or ()}
        for container in new["spec"].get(name) or ():
            for field in ("resources", "resizePolicy"):
                if field in wanted.get(container["name"], {}):
                    container[field] = wanted[container["name"]][field]


def changed_ephemeral(new: Object, old: Object) -> Iterator[Cause]:
    """Debugging containers are added, never changed or removed."""
    path = "spec.ephemeralContainers"
    now = {container.get("name"): container for container in new["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container["name"]
        if name not in now:
            yield forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n')
        elif now[name] != container:
            yield forbidden(path, f'existing ephemeral containers "{name}" may not be changed')


def wrong_resize(new: Object, old: Object, quality: str) -> Iterator[Cause]:
    """A resize changes cpu and memory, and not the quality of service."""
    if quality != (old.get("status") or {}).get("qosClass"):
        yield invalid("spec", new["status"].get("qosClass"), "Pod QOS Class may not change as a result of resizing")
    for name in ("containers", "initContainers"):
        pairs = zip(new["spec"].get(name) or (), old["spec"].get(name) or (), strict=True)
        for index, (container, before) in enumerate(pairs):
            path = f"spec.{name}[{index}].resources"
            yield from _wrong_resources(path, container.get("resources") or {}, before.get("resources") or {})


def _wrong_resources(path: str, now: dict[str, Any], before: dict[str, Any]) -> Iterator[Cause]:
    for section in ("limits", "requests"):
        amounts, earlier = now.get(section) or {}, before.get(section) or {}
        if earlier.keys() - amounts.keys():
            yield forbidden(f"{path}.{section}", f"resource {section} cannot be removed")
        fixed = {name for name in amounts.keys() | earlier.keys() if name not in _RESIZABLE}
        if any(amounts.get(name) != earlier.get(name) for name in fixed):
            yield forbidden("spec", "only cpu and memory resources are mutable")
