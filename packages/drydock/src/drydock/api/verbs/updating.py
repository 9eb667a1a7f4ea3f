"""update: an object replaced by its body."""

from drydock.api.answers.status import Refusal
from drydock.api.cluster import Call, Cluster, conflict, not_found
from drydock.api.kinds.conventions import is_created_by_update
from drydock.api.kinds.kind import Object
from drydock.api.requests.bodies import read_object
from drydock.api.requests.options import write_options
from drydock.api.storage.store import Stored, object_key
from drydock.api.verbs.writing import Write, check_namespace
from drydock.api.verbs.writing import create as create_object
from drydock.api.verbs.writing import update as update_object
from hawser.transport import Response


def update(cluster: Cluster, call: Call) -> Response:
    """Replace the object, or the part of it that a subresource stands for."""
    kind, name = call.kind, call.name
    options = write_options(call.query, call.user_agent, "UpdateOptions")
    existing = cluster.table(kind).objects.get(object_key(call.namespace, name))
    old = existing.object if existing else None
    new = read_object(call.request, kind, options.field_validation, call.warnings, old)
    check_names(call, new)
    write = Write(call.user, options, call.route.subresource, warnings=call.warnings)
    if existing is None:
        if not is_created_by_update(kind) or call.route.subresource:
            raise not_found(kind.group, kind.plural, name)
        new["metadata"].pop("resourceVersion", None)
        stored = create_object(cluster, kind, call.namespace, new, write)
        return call.accepted.response(201, call.writer(cluster).one(stored), {})
    _check_uid(call, existing, new)
    stored = update_object(cluster, kind, existing, new, write)
    return call.accepted.response(200, call.writer(cluster).one(stored), {})


def check_names(call: Call, new: Object) -> None:
    """400 when the body is about another object than the path."""
    metadata = new["metadata"]
    if metadata.setdefault("name", call.name) != call.name:
        told = f"the name of the object ({metadata['name']}) does not match the name on the URL ({call.name})"
        raise Refusal(400, "BadRequest", told)
    check_namespace(call.kind, call.namespace, metadata)


def _check_uid(call: Call, existing: Stored, new: Object) -> None:
    kind, uid, actual = call.kind, new["metadata"].get("uid"), existing.object["metadata"]["uid"]
    if uid and uid != actual:
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/{kind.plural}/{existing.key}, ResourceVersion: 0,"
            f" AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}"
        )
        raise conflict(kind.group, kind.plural, call.name, why)
