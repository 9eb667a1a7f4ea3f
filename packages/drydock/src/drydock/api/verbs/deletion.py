"""What a deletion does to an object: at once, gracefully, or when its finalizers are done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from drydock.api.cluster import conflict, timestamp
from drydock.api.kinds.kind import Kind, Object
from drydock.api.requests.options import DeleteOptions

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

_ORPHANS_BY_DEFAULT = {("batch", "jobs"), ("", "replicationcontrollers")}
_NO_DEPENDENTS = {("", "events"), ("events.k8s.io", "events")}


@dataclass(frozen=True, slots=True)
class Deletion:
    """What to do: write `marked` if there is something to write, then remove the object if `remove`."""

    marked: Object | None
    remove: bool


def check_preconditions(kind: Kind, existing: Object, options: DeleteOptions) -> None:
    """409 when the object is not the one, or not in the state, that the caller has seen."""
    wanted, metadata = options.preconditions, existing["metadata"]
    if wanted is None:
        return
    if wanted.uid is not None and wanted.uid != metadata["uid"]:
        raise conflict(
            kind.group,
            kind.kind,
            metadata["name"],
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({metadata['uid']})."
            " The object might have been deleted and then recreated",
        )
    if wanted.resource_version is not None and wanted.resource_version != metadata["resourceVersion"]:
        raise conflict(
            kind.group,
            kind.kind,
            metadata["name"],
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion"
            f" in record ({metadata['resourceVersion']}). The object might have been modified",
        )


def plan_deletion(kind: Kind, existing: Object, options: DeleteOptions, now: datetime) -> Deletion:
    """Decide on a copy of the object, which may be changed."""
    check_preconditions(kind, existing, options)
    if (kind.group, kind.plural) == ("", "pods"):
        return _plan_pod_deletion(kind, existing, options, now)
    if (kind.group, kind.plural) == ("", "namespaces"):
        return _plan_namespace_deletion(kind, existing, now)
    return _plan_finalization(kind, existing, options, now, marked=False)


def ends_with_update(kind: Kind, old: Object, new: Object) -> bool:
    """Does this update take away the last thing that kept a deleted object?"""
    metadata = old["metadata"]
    if "deletionTimestamp" not in metadata or new["metadata"].get("finalizers"):
        return False
    if kind.plural == "namespaces" and not kind.group and new.get("spec", {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def _plan_pod_deletion(kind: Kind, pod: Object, options: DeleteOptions, now: datetime) -> Deletion:
    metadata = pod["metadata"]
    asked = options.grace_period_seconds
    if asked is not None and asked < 0:
        asked = 1
    if "deletionTimestamp" not in metadata:
        seconds = _grace_seconds(pod, asked)
        _set_deletion(metadata, now + timedelta(seconds=seconds), seconds)
        _raise_generation(metadata)
        return _plan_finalization(kind, pod, options, now, marked=True, linger=seconds > 0)
    granted = metadata.get("deletionGracePeriodSeconds", 0)
    if granted == 0:
        return _plan_finalization(kind, pod, options, now, marked=False)
    if asked is None or asked >= granted:
        return Deletion(None, remove=False)
    started = _parse(metadata["deletionTimestamp"]) - timedelta(seconds=granted)
    ends, seconds = started + timedelta(seconds=asked), asked
    if ends < now:
        ends, seconds = now, min(asked, 1)
    _set_deletion(metadata, ends, seconds)
    return _plan_finalization(kind, pod, options, now, marked=True, linger=seconds > 0)


def _plan_namespace_deletion(kind: Kind, namespace: Object, now: datetime) -> Deletion:
    if "deletionTimestamp" not in namespace["metadata"]:
        namespace["metadata"]["deletionTimestamp"] = timestamp(now)
        namespace.setdefault("status", {})["phase"] = "Terminating"
        return Deletion(namespace, remove=False)
    done = not namespace.get("spec", {}).get("finalizers") and not namespace["metadata"].get("finalizers")
    return Deletion(None, remove=done)


def _plan_finalization(
    kind: Kind, existing: Object, options: DeleteOptions, now: datetime, *, marked: bool, linger: bool = False
) -> Deletion:
    metadata = existing["metadata"]
    before = metadata.get("finalizers") or []
    after = _finalizers(kind, before, options)
    if after:
        metadata["finalizers"] = after
    else:
        metadata.pop("finalizers", None)
    if not after:
        return Deletion(existing if marked else None, remove=not linger)
    if not marked:
        _mark_as_deleting(metadata, now)
    return Deletion(existing, remove=False)


def _finalizers(kind: Kind, before: Sequence[str], options: DeleteOptions) -> list[str]:
    """The finalizers after the collector's own two have been set as the policy asks."""
    kept = [finalizer for finalizer in before if finalizer not in (ORPHAN, FOREGROUND)]
    if (kind.group, kind.plural) in _NO_DEPENDENTS:
        return kept
    match _policy(kind, before, options):
        case "Orphan":
            return [*kept, ORPHAN]
        case "Foreground":
            return [*kept, FOREGROUND]
        case _:
            return kept


def _policy(kind: Kind, before: Sequence[str], options: DeleteOptions) -> str:
    if options.orphan_dependents is not None:
        return "Orphan" if options.orphan_dependents else "Background"
    if options.propagation_policy is not None:
        return options.propagation_policy
    for finalizer in before:
        if finalizer == ORPHAN:
            return "Orphan"
        if finalizer == FOREGROUND:
            return "Foreground"
    return "Orphan" if (kind.group, kind.plural) in _ORPHANS_BY_DEFAULT else "Background"


def _grace_seconds(pod: Object, asked: int | None) -> int:
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if asked is not None:
        return asked
    return int(pod["spec"].get("terminationGracePeriodSeconds", 0))


def _mark_as_deleting(metadata: Object, now: datetime) -> None:
    if "deletionTimestamp" not in metadata:
        _raise_generation(metadata)
    if "deletionTimestamp" not in metadata or _parse(metadata["deletionTimestamp"]) > now:
        metadata["deletionTimestamp"] = timestamp(now)
    metadata["deletionGracePeriodSeconds"] = 0


def _set_deletion(metadata: Object, ends: datetime, seconds: int) -> None:
    metadata["deletionTimestamp"] = timestamp(ends)
    metadata["deletionGracePeriodSeconds"] = seconds


def _raise_generation(metadata: Object) -> None:
    if metadata.get("generation"):
        metadata["generation"] += 1


def _parse(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
