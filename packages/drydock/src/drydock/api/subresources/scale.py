"""scale: the replica count of anything that has one, as an autoscaling/v1 Scale."""

from typing import Any

import msgspec

from drydock.api.answers import causes
from drydock.api.answers.status import Refusal, invalid
from drydock.api.cluster import Call, Cluster
from drydock.api.kinds.kind import Kind, Object
from drydock.api.requests.bodies import decode_any, decode_part, media_type
from drydock.api.requests.options import write_options
from drydock.api.schema.validation import decoding_error
from drydock.api.storage.store import Stored
from drydock.api.types import LIBRARY
from drydock.api.verbs.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, patched, unusable_patch
from drydock.api.verbs.updating import check_names
from drydock.api.verbs.writing import Write, update
from hawser.transport import Response

_GROUP = "autoscaling"
_SCALE = Kind(_GROUP, "v1", "Scale", "scales", True, LIBRARY["autoscaling.Scale"])
_OPERATORS = {"In": "in", "NotIn": "notin"}


def get_scale(cluster: Cluster, call: Call) -> Response:
    """The Scale of an object."""
    existing = cluster.require(call.kind, call.namespace, call.name)
    return _answer(call, _scale_of(call.kind, existing))


def update_scale(cluster: Cluster, call: Call) -> Response:
    """Set the replica count from a whole Scale."""
    existing = cluster.require(call.kind, call.namespace, call.name)
    return _rescale(cluster, call, existing, decode_part(call.request, _SCALE))


def patch_scale(cluster: Cluster, call: Call) -> Response:
    """Set the replica count from a patch of the Scale."""
    how = media_type(call.request)
    if how not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH):
        raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    existing = cluster.require(call.kind, call.namespace, call.name)
    body = decode_any(call.request, prefix="error decoding patch: ")
    wanted = patched(_SCALE, _scale_of(call.kind, existing), how, body)
    if misfit := decoding_error(_SCALE.schema, wanted):
        raise unusable_patch(misfit)
    return _rescale(cluster, call, existing, wanted)


def _rescale(cluster: Cluster, call: Call, existing: Stored, wanted: Object) -> Response:
    metadata = wanted.get("metadata") or {}
    check_names(call, {**wanted, "metadata": metadata})
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        wrong = causes.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("Scale", _GROUP, call.name, [wrong])
    new = existing.copy()
    for name in ("uid", "resourceVersion"):
        if metadata.get(name):
            new["metadata"][name] = metadata[name]
    _write_path(new, _paths(call.kind)[0], replicas)
    options = write_options(call.query, call.user_agent, "UpdateOptions")
    stored = update(cluster, call.kind, existing, new, Write(call.user, options, "scale", warnings=call.warnings))
    return _answer(call, _scale_of(call.kind, stored))


def _answer(call: Call, scale: Object) -> Response:
    return call.accepted.response(200, msgspec.json.encode(scale), {})


def _scale_of(kind: Kind, stored: Stored) -> Object:
    spec_path, status_path, selector_path = _paths(kind)
    metadata = stored.object["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": _read_path(stored.object, status_path) or 0}
    if selector := _selector(kind, stored.object, selector_path):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": _SCALE.api_version,
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": _read_path(stored.object, spec_path) or 0},
        "status": status,
    }


def _paths(kind: Kind) -> tuple[str, str, str]:
    assert kind.scale_paths is not None, f"{kind.kind} has a scale but says not where"
    return kind.scale_paths


def _selector(kind: Kind, scaled: Object, path: str) -> str:
    if kind.custom:
        return str(_read_path(scaled, path) or "") if path else ""
    selector = scaled.get("spec", {}).get("selector") or {}
    if kind.plural == "replicationcontrollers":
        selector = {"matchLabels": selector}
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    terms += [_expression(expression) for expression in selector.get("matchExpressions") or ()]
    return ",".join(sorted(terms))


def _expression(expression: Object) -> str:
    key, values = expression["key"], ",".join(sorted(expression.get("values") or ()))
    match expression["operator"]:
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
        case operator:
            return f"{key} {_OPERATORS[operator]} ({values})"


def _read_path(source: Object, path: str) -> Any:
    found: Any = source
    for part in path.strip(".").split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _write_path(target: Object, path: str, value: int) -> None:
    *parents, last = path.strip(".").split(".")
    for part in parents:
        target = target.setdefault(part, {})
    target[last] = value
