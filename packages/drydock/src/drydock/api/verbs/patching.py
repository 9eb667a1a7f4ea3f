"""patch: JSON patch, merge patch, strategic merge patch, and server-side apply."""

from typing import Any

from drydock.api.answers import causes
from drydock.api.answers.status import Refusal, invalid
from drydock.api.apply.configuration import Applier, server_side_apply
from drydock.api.cluster import Call, Cluster, conflict
from drydock.api.kinds.kind import Kind, Object
from drydock.api.patch.json_patch import json_patch, merge_patch
from drydock.api.patch.strategic import strategic_merge
from drydock.api.requests.bodies import Misshapen, decode_any, media_type, shape
from drydock.api.requests.options import WriteOptions, write_options
from drydock.api.storage.store import Stored, object_key
from drydock.api.verbs.updating import check_names
from drydock.api.verbs.writing import Write
from drydock.api.verbs.writing import create as create_object
from drydock.api.verbs.writing import update as update_object
from hawser.transport import Response

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patch(cluster: Cluster, call: Call) -> Response:
    """Change an object in place, or apply it."""
    how = media_type(call.request)
    if how not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH):
        raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    if how == STRATEGIC_PATCH and call.kind.custom:
        told = "the body of the request was in an unknown format - accepted media types include:"
        raise Refusal(415, "UnsupportedMediaType", f"{told} {JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}")
    options = write_options(call.query, call.user_agent, "PatchOptions", apply=how == APPLY_PATCH)
    prefix = "error decoding YAML: " if how == APPLY_PATCH else "error decoding patch: "
    body = decode_any(call.request, prefix=prefix)
    if how == APPLY_PATCH:
        return _apply(cluster, call, options, body)
    existing = cluster.require(call.kind, call.namespace, call.name)
    new = patched(call.kind, existing.object, how, body)
    _shape_patched(call, new, existing.object, options)
    check_names(call, new)
    write = Write(call.user, options, call.route.subresource, warnings=call.warnings)
    stored = update_object(cluster, call.kind, existing, new, write)
    return call.accepted.response(200, call.writer(cluster).one(stored), {})


def patched(kind: Kind, old: Object, how: str, body: Any) -> Object:
    """The object after the patch; the old one is left as it is."""
    match how:
        case "application/json-patch+json":
            return json_patch(old, body)
        case "application/merge-patch+json":
            return merge_patch(old, body)
        case _:
            return strategic_merge(kind.schema, old, body)


def _shape_patched(call: Call, new: Object, old: Object, options: WriteOptions) -> None:
    kind = call.kind
    if new.get("kind") != kind.kind or str(new.get("apiVersion")).rpartition("/")[0] != kind.group:
        raise unusable_patch(f"it would turn a {kind.kind} into a {new.get('kind')} of {new.get('apiVersion')}")
    new["apiVersion"] = kind.api_version
    if not isinstance(new.get("metadata"), dict):
        raise unusable_patch("an object has metadata")
    try:
        shape(kind, new, options.field_validation, call.warnings, old)
    except Misshapen as misfit:
        raise unusable_patch(str(misfit)) from misfit


def unusable_patch(why: str) -> Refusal:
    """422 for a patch after which the object would not be one."""
    return invalid("", "", "", [causes.invalid("patch", "patch", why)])


def _apply(cluster: Cluster, call: Call, options: WriteOptions, body: Any) -> Response:
    kind = call.kind
    applied = _applied_object(call, body)
    existing = cluster.table(kind).objects.get(object_key(call.namespace, call.name))
    by = Applier(
        options.field_manager,
        cluster.clock.now(),
        force=options.force,
        subresource=call.route.subresource,
        status_is_separate="status" in kind.subresources or not kind.custom,
    )
    merged = server_side_apply(kind.schema, existing.object if existing else None, applied, by)
    try:
        shape(kind, merged, "Ignore", call.warnings, existing.object if existing else None)
    except Misshapen as misfit:
        raise Refusal(400, "BadRequest", str(misfit)) from misfit
    check_names(call, merged)
    write = Write(call.user, options, call.route.subresource, tracked=True, warnings=call.warnings)
    if existing is None:
        stored = _apply_new(cluster, call, merged, write)
        return call.accepted.response(201, call.writer(cluster).one(stored), {})
    stored = update_object(cluster, kind, existing, merged, write)
    return call.accepted.response(200, call.writer(cluster).one(stored), {})


def _applied_object(call: Call, body: Any) -> Object:
    kind = call.kind
    stated = body if isinstance(body, dict) else {}
    claimed, version = str(stated.get("kind") or ""), str(stated.get("apiVersion") or "")
    if claimed != kind.kind or version != kind.api_version:
        group_version = version if "/" in version else f"/{version}"
        raise Refusal(400, "BadRequest", f"invalid object type: {group_version}, Kind={claimed}")
    applied: Object = body
    metadata = applied.get("metadata")
    if not isinstance(metadata, dict):
        metadata = applied["metadata"] = {}
    check_names(call, {"metadata": dict(metadata)})
    metadata.setdefault("name", call.name)
    return applied


def _apply_new(cluster: Cluster, call: Call, merged: Object, write: Write) -> Stored:
    kind = call.kind
    if call.route.subresource:
        cluster.require(kind, call.namespace, call.name)
    metadata = merged["metadata"]
    if uid := metadata.get("uid"):
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(kind.group, kind.plural, call.name, why)
    metadata.pop("resourceVersion", None)
    return create_object(cluster, kind, call.namespace, merged, write)
