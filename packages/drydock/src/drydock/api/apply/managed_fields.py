"""Who set which field: the entries of `metadata.managedFields`, and their upkeep on create, update and patch."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from drydock.api.apply.comparison import compare, is_built_in
from drydock.api.apply.field_sets import FieldSet, difference, intersection, union, without_subtrees
from drydock.api.schema.shape import Schema

MAX_UPDATE_ENTRIES = 10
_STRIPPED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        "f:name": {},
        "f:namespace": {},
        "f:creationTimestamp": {},
        "f:selfLink": {},
        "f:uid": {},
        "f:clusterName": {},
        "f:generation": {},
        "f:managedFields": {},
        "f:resourceVersion": {},
    },
}
_STATUS: FieldSet = {"f:status": {}}


@dataclass(frozen=True, slots=True)
class Entry:
    """One manager's fields. Appliers are the same manager in every API version, updaters are not."""

    manager: str
    operation: Literal["Apply", "Update"]
    api_version: str
    subresource: str
    fields: FieldSet
    time: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        version = "" if self.operation == "Apply" else self.api_version
        return self.manager, self.operation, version, self.subresource

    def encoded(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields,
            "subresource": self.subresource,
        }
        if not self.time:
            del body["time"]
        if not self.subresource:
            del body["subresource"]
        return body


Entries = dict[tuple[str, str, str, str], Entry]


def track_update(
    schema: Schema,
    old: dict[str, Any] | None,
    new: dict[str, Any],
    manager: str,
    now: datetime,
    subresource: str = "",
) -> dict[str, Any]:
    """`new` with its managedFields brought up to date: changed fields move to `manager`, removed ones to nobody.

    Call it with what will be stored. An object whose entries were reset stays untracked until it is applied.
    """
    entries = _entries_to_continue(old, new, subresource)
    metadata = {key: value for key, value in new.get("metadata", {}).items() if key != "managedFields"}
    tracked = {**new, "metadata": metadata}
    if old is not None and not entries:
        return tracked
    updater = Entry(manager or "unknown", "Update", str(new.get("apiVersion", "")), subresource, {}, stamp(now))
    changed = take_changes(schema, old or {}, tracked, entries, updater)
    if encoded := encode_entries(cap_updaters(changed)):
        metadata["managedFields"] = encoded
    return tracked


def take_changes(schema: Schema, old: dict[str, Any], new: dict[str, Any], entries: Entries, updater: Entry) -> Entries:
    """The entries after `updater` has turned `old` into `new`."""
    changes = compare(schema, _without_entries(old), new)
    taken = changes.taken()
    if is_built_in(schema) and not updater.subresource:
        taken = without_subtrees(taken, _STATUS)  # the server wrote it, not the client
    kept = release(entries.values(), taken, changes.removed)
    mine = strip(taken)
    if mine:
        previous = kept.get(updater.identity)
        fields = union(mine, previous.fields) if previous else mine
        kept[updater.identity] = replace(updater, fields=fields)
    return kept


def release(entries: Iterable[Entry], taken: FieldSet, removed: FieldSet) -> Entries:
    """The entries without what someone else has taken or removed; empty ones are gone."""
    kept: Entries = {}
    for entry in entries:
        fields = difference(difference(entry.fields, intersection(entry.fields, taken)), removed)
        if fields:
            kept[entry.identity] = entry if fields is entry.fields else replace(entry, fields=fields)
    return kept


def strip(fields: FieldSet) -> FieldSet:
    """Without what belongs to the server: names, versions, timestamps."""
    return difference(fields, _STRIPPED)


def decode_entries(encoded: object) -> Entries | None:
    """The entries of an object; None when they cannot be understood."""
    entries: Entries = {}
    for item in encoded if isinstance(encoded, list) else []:
        if not isinstance(item, dict) or item.get("fieldsType") != "FieldsV1" or not item.get("apiVersion"):
            return None
        operation = item.get("operation")
        if operation not in ("Apply", "Update"):
            return None
        entry = Entry(
            item.get("manager", ""),
            operation,
            item["apiVersion"],
            item.get("subresource", ""),
            item.get("fieldsV1") or {},
            item.get("time") or "",
        )
        entries[entry.identity] = entry
    return entries


def encode_entries(entries: Entries) -> list[dict[str, Any]]:
    def order(entry: Entry) -> tuple[str, ...]:
        return entry.operation, entry.time, entry.manager, entry.api_version, entry.subresource

    return [entry.encoded() for entry in sorted(entries.values(), key=order)]


def cap_updaters(entries: Entries) -> Entries:
    """The oldest updaters of a version share one entry, so that the list stays short."""
    updaters = [entry for entry in entries.values() if entry.operation == "Update"]
    surplus = len(updaters) - MAX_UPDATE_ENTRIES
    if surplus <= 0:
        return entries
    capped = dict(entries)
    first_of_version: dict[str, Entry] = {}
    for entry in sorted(updaters, key=lambda entry: (entry.time, entry.identity)):
        if surplus <= 0:
            break
        first = first_of_version.setdefault(entry.api_version, entry)
        if first is entry:
            continue
        bucket = Entry("ancient-changes", "Update", entry.api_version, "", {}, entry.time)
        gathered = capped.get(bucket.identity) or capped.pop(first.identity)
        del capped[entry.identity]
        capped[bucket.identity] = replace(bucket, fields=union(entry.fields, gathered.fields))
        surplus -= 1
    return capped


def stamp(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _entries_to_continue(old: dict[str, Any] | None, new: dict[str, Any], subresource: str) -> Entries:
    """The client's own list if it sends one, else the stored one: clients may not know of managedFields."""
    stored = decode_entries((old or {}).get("metadata", {}).get("managedFields")) or {}
    if subresource:
        return stored
    sent = new.get("metadata", {}).get("managedFields")
    if sent is not None and (not sent or sent == [{}]):
        return {}
    return decode_entries(sent) or stored


def _without_entries(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
