"""Server-side apply: merge what a manager wants into the live object, take away what it no longer wants.

Fields belong to their managers. To set another one's field to a different value is a conflict, unless forced; to set
it to the same value is to share it. What a manager stops applying and nobody else owns is removed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from drydock.api.answers.causes import required
from drydock.api.answers.status import Cause, Refusal, invalid
from drydock.api.apply.comparison import compare, field_set, is_built_in
from drydock.api.apply.field_sets import FieldSet, difference, intersection, paths, union, without_subtrees
from drydock.api.apply.managed_fields import (
    Entries,
    Entry,
    decode_entries,
    encode_entries,
    release,
    stamp,
    strip,
    take_changes,
)
from drydock.api.apply.merge import Malformed, check_applied, merge, remove_fields, with_named_fields
from drydock.api.patch.json_patch import copy_json
from drydock.api.schema.shape import Schema

Object = dict[str, Any]

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS_BYTES = 256 * 1024
_STATUS: FieldSet = {"f:status": {}}
_SPEC: FieldSet = {"f:spec": {}}
_SPEC_AND_METADATA: FieldSet = {"f:spec": {}, "f:metadata": {}}


@dataclass(frozen=True, slots=True)
class Applier:
    """Who applies, when and how."""

    manager: str
    now: datetime
    force: bool = False  # take what others own
    subresource: str = ""
    status_is_separate: bool = True  # false for custom kinds without a status subresource


def server_side_apply(schema: Schema, live: Object | None, applied: Object, by: Applier) -> Object:
    """The object after the manager has applied `applied`; 409 when that would change what others own."""
    manager, now = by.manager, by.now
    _check_request(schema, applied, manager)
    current = _without_entries(live or {})
    entries = _entries(schema, live, now)
    applier = Entry(manager, "Apply", str(applied.get("apiVersion", "")), by.subresource, {})
    ignored = _ignored(schema, by.subresource, by.status_is_separate)
    fields = without_subtrees(field_set(schema, applied), ignored)
    last = entries.get(applier.identity)

    merged = merge(schema, current, applied)
    entries[applier.identity] = replace(applier, fields=fields, time=last.time if last else "")
    if last and difference(last.fields, fields):
        merged = _prune(schema, merged, last.fields, entries)

    changes = compare(schema, current, merged)
    taken = without_subtrees(changes.taken(), ignored)
    others = [entry for identity, entry in entries.items() if identity != applier.identity]
    if not by.force:
        _refuse_conflicts(_conflicts(others, taken), manager, schema, current)

    kept = release(others, taken, without_subtrees(changes.removed, ignored))
    if mine := strip(fields):
        changed = merged != current
        kept[applier.identity] = replace(
            entries[applier.identity], fields=mine, time=stamp(now) if changed else entries[applier.identity].time
        )
    return _finished(merged, kept, applied, manager)


def _check_request(schema: Schema, applied: Object, manager: str) -> None:
    if not manager:
        raise invalid("PatchOptions", "meta.k8s.io", "", [required("fieldManager", "is required for apply patch")])
    metadata = applied.get("metadata") or {}
    if metadata.get("managedFields") is not None:
        raise Refusal(400, "BadRequest", "metadata.managedFields must be nil")
    try:
        check_applied(schema, applied)
    except Malformed as error:
        group, _, version = str(applied.get("apiVersion", "")).rpartition("/")
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        about = f"{place}; {group}/{version}, Kind={applied.get('kind', '')}"
        raise Refusal(500, "", f"failed to create typed patch object ({about}): {error}") from error


def _entries(schema: Schema, live: Object | None, now: datetime) -> Entries:
    """Who owns what so far. Fields of an object that was never tracked belong to `before-first-apply`."""
    if live is None:
        return {}
    entries = decode_entries(live.get("metadata", {}).get("managedFields"))
    if entries is None:
        raise Refusal(500, "", "failed to decode managed fields")
    if entries:
        return entries
    before = Entry("before-first-apply", "Update", str(live.get("apiVersion", "")), "", {}, stamp(now))
    return take_changes(schema, {}, _without_entries(live), {}, before)


def _ignored(schema: Schema, subresource: str, status_is_separate: bool) -> FieldSet:
    """What an apply through this endpoint cannot set, and so does not own."""
    if subresource == "status":
        return _SPEC if is_built_in(schema) else _SPEC_AND_METADATA
    return _STATUS if status_is_separate else {}


def _prune(schema: Schema, merged: Object, last: FieldSet, entries: Entries) -> Object:
    """Without what was applied last time, is not applied now, and is owned by no one else."""
    applied_before = with_named_fields(schema, last)
    owned: FieldSet = {}
    for entry in entries.values():
        owned = union(owned, entry.fields)
    everything = with_named_fields(schema, field_set(schema, merged))
    rest = with_named_fields(schema, field_set(schema, remove_fields(schema, merged, applied_before)))
    unowned = difference(everything, union(rest, with_named_fields(schema, owned)))
    kept = with_named_fields(schema, field_set(schema, remove_fields(schema, merged, unowned)))
    pruned: Object = remove_fields(schema, merged, intersection(difference(everything, kept), applied_before))
    return pruned


def _conflicts(others: list[Entry], taken: FieldSet) -> list[tuple[Entry, FieldSet]]:
    found = [(entry, intersection(entry.fields, taken)) for entry in others]
    return sorted(((entry, fields) for entry, fields in found if fields), key=lambda pair: pair[0].identity)


def _refuse_conflicts(conflicts: list[tuple[Entry, FieldSet]], manager: str, schema: Schema, live: Object) -> None:
    if conflicts and manager == "kubectl":
        allowed = _last_applied_fields(schema, live)
        conflicts = [(entry, rest) for entry, fields in conflicts if (rest := difference(fields, allowed))]
    if not conflicts:
        return
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_told(entry)}", path)
        for entry, fields in conflicts
        for path in paths(fields)
    ]
    if len(causes) == 1:
        text = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        text = f"Apply failed with {len(causes)} conflicts: {chr(10).join(_told_by_manager(conflicts))}"
    raise Refusal(409, "Conflict", text, causes=causes)


def _told_by_manager(conflicts: list[tuple[Entry, FieldSet]]) -> Iterator[str]:
    for entry, fields in conflicts:
        yield f"conflicts with {_told(entry)}:"
        yield from (f"- {path}" for path in paths(fields))


def _told(entry: Entry) -> str:
    name = f'"{entry.manager}"'
    if entry.subresource:
        name += f' with subresource "{entry.subresource}"'
    return f"{name} using {entry.api_version}" if entry.operation == "Update" else name


def _last_applied_fields(schema: Schema, live: Object) -> FieldSet:
    """What `kubectl apply` on the client's side has set and nobody has changed since: kubectl may take it over."""
    text = _annotations(live).get(_LAST_APPLIED)
    if not text:
        return {}
    try:
        last = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
    if last.get("apiVersion") != live.get("apiVersion"):
        return {}
    changes = compare(schema, last, live)
    return difference(difference(field_set(schema, last), changes.taken()), changes.removed)


def _finished(merged: Object, entries: Entries, applied: Object, manager: str) -> Object:
    finished: Object = copy_json(merged)
    metadata = finished.setdefault("metadata", {})
    annotations = metadata.get("annotations") or {}
    if manager == "kubectl" and annotations.get(_LAST_APPLIED):
        annotations[_LAST_APPLIED] = _last_applied(applied)
        if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS_BYTES:
            del annotations[_LAST_APPLIED]
    if encoded := encode_entries(entries):
        metadata["managedFields"] = encoded
    return finished


def _last_applied(applied: Object) -> str:
    plain = copy_json(applied)
    plain.get("metadata", {}).get("annotations", {}).pop(_LAST_APPLIED, None)
    return msgspec.json.encode(plain, order="sorted").decode() + "\n"


def _annotations(obj: Object) -> dict[str, str]:
    return obj.get("metadata", {}).get("annotations") or {}


def _without_entries(obj: Object) -> Object:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "managedFields"}
    return {**obj, "metadata": metadata} if "metadata" in obj else obj
