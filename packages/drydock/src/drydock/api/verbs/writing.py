"""The one way into the store: every create and update, whatever the verb, passes here."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from drydock.api.access.identity import User
from drydock.api.admission.policies import check_policies
from drydock.api.admission.quota import check_quota
from drydock.api.admission.rules import admit_create, admit_update, check_place
from drydock.api.answers import causes
from drydock.api.answers.status import Cause, Refusal, invalid
from drydock.api.apply.managed_fields import track_update
from drydock.api.cluster import Cluster, conflict, not_run, timestamp
from drydock.api.kinds.conventions import needs_version
from drydock.api.kinds.kind import Context, Kind, Object
from drydock.api.objects.metadata import validate_metadata
from drydock.api.requests.options import WriteOptions
from drydock.api.storage.store import Stored, encode_object, object_key
from drydock.api.verbs.deletion import ends_with_update

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"

_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_NAME_SUFFIX = 5
_NAME_MAX = 63
_NAME_ATTEMPTS = 8
_SERVER_FIELDS = ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(frozen=True, slots=True)
class Write:
    """Who writes, through what, and how."""

    user: User
    options: WriteOptions
    subresource: str = ""
    tracked: bool = False  # managedFields are already as they should be: the write is an apply
    warnings: list[str] = field(default_factory=list)


def create(cluster: Cluster, kind: Kind, namespace: str, new: Object, write: Write) -> Stored:
    """Store a new object; 403, 404, 409 or 422 when it may not be."""
    if kind.use_instead:
        raise not_run(kind, new["metadata"].get("name", ""))
    context = cluster.context(write.user)
    _begin(cluster, kind, namespace, new, context)
    check_place(cluster, kind, namespace, new)
    kind.strategy.prepare_create(new, context)
    if kind.spec_has_generation:
        new["metadata"]["generation"] = 1
    if not write.tracked:
        # What admission adds below is the server's own: no manager answers for it.
        new = track_update(kind.schema, None, new, write.options.field_manager, context.now, write.subresource)
    admit_create(cluster, kind, new)
    check_policies(cluster, kind, new, None, write.user)
    _require(kind, new, [*validate_metadata(kind, new), *kind.strategy.validate_create(new, context)])
    check_quota(cluster, kind, namespace, new)
    key = object_key(namespace, new["metadata"]["name"])
    table = cluster.table(kind)
    if key in table.objects:
        raise _already_exists(kind, table.objects[key].object["metadata"])
    if write.options.dry_run:
        return unsaved(key, new)
    return cluster.store.put(table, key, new)


def update(cluster: Cluster, kind: Kind, existing: Stored, new: Object, write: Write) -> Stored:
    """Store a changed object; nothing is written when nothing changed, and what was only waiting for it ends."""
    context = cluster.context(write.user)
    old = existing.object
    _check_version(kind, old, new)
    _keep_server_fields(new, old)
    if not write.subresource:
        admit_update(kind, new, old)
    kind.strategy.prepare_update(new, old, write.subresource, context)
    check_policies(cluster, kind, new, old, write.user, write.subresource)
    wrong = validate_metadata(kind, new, old)
    _require(kind, new, [*wrong, *kind.strategy.validate_update(new, old, write.subresource, context)])
    if kind.spec_has_generation and _raises_generation(kind, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    if not write.tracked:
        new = track_update(kind.schema, old, new, write.options.field_manager, context.now, write.subresource)
    if ends_with_update(kind, old, new):
        if not write.options.dry_run:
            cluster.store.remove(cluster.table(kind), existing.key)
        return unsaved(existing.key, new, existing.version)
    if _same(new, old):
        return existing
    if write.options.dry_run:
        return unsaved(existing.key, new, existing.version)
    return cluster.store.put(cluster.table(kind), existing.key, new)


def unsaved(key: str, new: Object, version: int = 0) -> Stored:
    """An object as an answer shows it, without having been written."""
    if version:
        new["metadata"]["resourceVersion"] = str(version)
    return Stored(key, encode_object(new), version)


def _begin(cluster: Cluster, kind: Kind, namespace: str, new: Object, context: Context) -> None:
    metadata = new["metadata"]
    check_namespace(kind, namespace, metadata)
    if metadata.get("resourceVersion"):
        raise Refusal(500, "", "resourceVersion should not be set on objects to be created")
    metadata.pop("resourceVersion", None)
    for name in _SERVER_FIELDS:
        metadata.pop(name, None)
    metadata["uid"] = context.new_uid()
    metadata["creationTimestamp"] = timestamp(context.now)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = _free_name(cluster, kind, namespace, metadata["generateName"])
    if kind.namespaced:
        metadata["namespace"] = namespace


def _free_name(cluster: Cluster, kind: Kind, namespace: str, prefix: str) -> str:
    taken = cluster.table(kind).objects
    name = ""
    for _ in range(_NAME_ATTEMPTS):
        letters = (_NAME_ALPHABET[cluster.entropy.below(len(_NAME_ALPHABET))] for _ in range(_NAME_SUFFIX))
        name = prefix[: _NAME_MAX - _NAME_SUFFIX] + "".join(letters)
        if object_key(namespace, name) not in taken:
            break
    return name


def check_namespace(kind: Kind, namespace: str, metadata: Object) -> None:
    """400 when an object names another namespace than the path does."""
    if not kind.namespaced:
        metadata.pop("namespace", None)
    elif metadata.setdefault("namespace", namespace) != namespace:
        told = "the namespace of the provided object does not match the namespace sent on the request"
        raise Refusal(400, "BadRequest", told)


def _already_exists(kind: Kind, present: Object) -> Refusal:
    qualified = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    name, going = present["name"], "object is being deleted: " if "deletionTimestamp" in present else ""
    message = f'{going}{qualified} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, kind=kind.plural, group=kind.group, name=name)


def _check_version(kind: Kind, old: Object, new: Object) -> None:
    metadata, current = new["metadata"], old["metadata"]
    version = metadata.get("resourceVersion", "")
    if version in ("", "0"):
        if needs_version(kind):
            wrong = causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(kind.plural, kind.group, current["name"], [wrong])
        metadata["resourceVersion"] = current["resourceVersion"]
    elif version != current["resourceVersion"]:
        raise conflict(kind.group, kind.plural, current["name"], MODIFIED)


def _keep_server_fields(new: Object, old: Object) -> None:
    """Carry over what an update cannot change and may leave out."""
    metadata, current = new["metadata"], old["metadata"]
    metadata["creationTimestamp"] = current["creationTimestamp"]
    metadata.pop("selfLink", None)
    for name in ("uid", "deletionGracePeriodSeconds"):
        if name in current and metadata.get(name) in (None, ""):
            metadata[name] = current[name]
    if "deletionTimestamp" in current:
        metadata["deletionTimestamp"] = current["deletionTimestamp"]
    metadata.pop("generation", None)
    if "generation" in current:
        metadata["generation"] = current["generation"]


def _require(kind: Kind, new: Object, wrong: Sequence[Cause]) -> None:
    if wrong:
        raise invalid(kind.kind, kind.group, new["metadata"].get("name", ""), wrong)


def _raises_generation(kind: Kind, new: Object, old: Object) -> bool:
    if kind.custom:
        apart = {"metadata", "status"} if "status" in kind.subresources else {"metadata"}
        return {key: value for key, value in new.items() if key not in apart} != {
            key: value for key, value in old.items() if key not in apart
        }
    return bool(new.get("spec") != old.get("spec"))


def _same(new: Object, old: Object) -> bool:
    """Equal as JSON: 1 and true, which Python takes for the same, are not."""
    return new == old and msgspec.json.encode(new, order="deterministic") == msgspec.json.encode(
        old, order="deterministic"
    )
