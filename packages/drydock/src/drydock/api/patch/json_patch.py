"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386), with kube-apiserver's tolerances and refusals.

Results share nothing that can change with the document they came from.
"""

import re
from collections.abc import Callable
from typing import Any, cast

import msgspec

from drydock.api.answers.status import Refusal

MAX_OPERATIONS = 10_000
_INDEX = re.compile(r"[+-]?[0-9]+")
_GO_TYPES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
}


_encode_json = msgspec.json.Encoder().encode
_decode_json = msgspec.json.Decoder().decode


class _DoesNotApply(Exception):
    """An operation that cannot be carried out on this document."""


def copy_json(value: Any) -> Any:
    """A copy of a JSON value that shares no dict or list with it; through JSON, which is faster than by hand."""
    return _decode_json(_encode_json(value)) if isinstance(value, (dict, list)) else value


def json_patch(doc: dict[str, Any], operations: object) -> dict[str, Any]:
    """The document after all operations; 422 when one does not apply, also when a `test` fails."""
    decoded = _decode(operations)
    root: Any = copy_json(doc)
    try:
        for operation in decoded:
            root = _apply(root, operation)
    except _DoesNotApply as reason:
        # The server keeps the reason to itself: a failed test looks like any other misfit.
        raise Refusal(422, "Invalid", "the server rejected our request due to an error in our request") from reason
    return cast(dict[str, Any], root)


def merge_patch(doc: dict[str, Any], patch: object) -> dict[str, Any]:
    """The document with the patch laid over it; nulls delete."""
    if patch is None:
        raise Refusal(400, "BadRequest", "Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise _undecodable(patch, "Go value of type map[string]interface {}")
    merged: dict[str, Any] = _merge(copy_json(doc), patch)
    return merged


def _merge(doc: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    for key, value in patch.items():
        if value is None:
            doc.pop(key, None)
            continue
        current = doc.get(key)
        if isinstance(current, dict):
            doc[key] = _merge(current, value) if isinstance(value, dict) else copy_json(value)
        else:
            doc[key] = _without_nulls(value)
    return doc


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _decode(operations: object) -> list[dict[str, Any]]:
    if not isinstance(operations, list):
        if operations is None:
            return []
        raise _undecodable(operations, "Go value of type []handlers.jsonPatchOp")
    if len(operations) > MAX_OPERATIONS:
        told = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise Refusal(413, "RequestEntityTooLarge", f"Request entity too large: {told}")
    for operation in operations:
        if not isinstance(operation, dict):
            raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            text = operation.get(name)
            if text is not None and not isinstance(text, str):
                raise _undecodable(text, f"Go struct field jsonPatchOp.{name} of type string")
    return operations


def _undecodable(value: object, target: str) -> Refusal:
    told = f"json: cannot unmarshal {_GO_TYPES.get(type(value), 'null')} into {target}"
    return Refusal(400, "BadRequest", f"error decoding patch: {told}")


def _apply(root: Any, operation: dict[str, Any]) -> Any:
    act = _ACTS.get(operation.get("op") or "unknown")
    if act is None:
        raise _DoesNotApply(f"unknown operation {operation.get('op')}")
    return act(root, operation)


def _add(root: Any, operation: dict[str, Any]) -> Any:
    _insert(*_locate(root, _pointer(operation, "path")), copy_json(operation.get("value")))
    return root


def _remove(root: Any, operation: dict[str, Any]) -> Any:
    _take(*_locate(root, _pointer(operation, "path")))
    return root


def _replace(root: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation, "path")
    value = copy_json(operation.get("value"))
    if path == "":
        if not isinstance(value, (dict, list)):
            raise _DoesNotApply("the whole document can only be replaced by an object or a list")
        return value
    container, key = _locate(root, path)
    if isinstance(container, list):
        container[_index(container, key, len(container))] = value
    else:
        container[key] = value  # a missing key is created, against the RFC
    return root


def _move(root: Any, operation: dict[str, Any]) -> Any:
    value = _take(*_locate(root, _pointer(operation, "from")))
    _insert(*_locate(root, _pointer(operation, "path")), value)
    return root


def _copy(root: Any, operation: dict[str, Any]) -> Any:
    value = copy_json(_read(*_locate(root, _pointer(operation, "from"))))
    _insert(*_locate(root, _pointer(operation, "path")), value)
    return root


def _test(root: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation, "path")
    found = root if path == "" else _read(*_locate(root, path))
    if not _same(found, operation.get("value")):
        raise _DoesNotApply(f"testing value {path} failed")
    return root


_ACTS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _pointer(operation: dict[str, Any], name: str) -> str:
    path = operation.get(name)
    if path is None:
        raise _DoesNotApply(f"operation without {name}")
    return str(path)


def _locate(root: Any, pointer: str) -> tuple[Any, str]:
    """The container that holds, or would hold, what the pointer names, and the last step to it."""
    parts = pointer.split("/")
    if len(parts) < 2:
        raise _DoesNotApply(f"{pointer!r} is not a path")
    steps = [part.replace("~1", "/").replace("~0", "~") for part in parts[1:]]
    container = root
    for step in steps[:-1]:
        container = _read(container, step)
        if not isinstance(container, (dict, list)):
            raise _DoesNotApply(f"the document has no {pointer}")
    return container, steps[-1]


def _read(container: Any, key: str) -> Any:
    if isinstance(container, list):
        return container[_index(container, key, len(container))]
    return container.get(key)


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(container, key, len(container) + 1), value)


def _take(container: Any, key: str) -> Any:
    if isinstance(container, list):
        return container.pop(_index(container, key, len(container)))
    if key not in container:
        raise _DoesNotApply(f"nothing to remove at {key}")
    return container.pop(key)


def _index(container: list[Any], key: str, bound: int) -> int:
    if not _INDEX.fullmatch(key):
        raise _DoesNotApply(f"{key} is not an index")
    index = int(key)
    if not -bound <= index < bound:
        raise _DoesNotApply(f"index {key} is out of {len(container)} items")
    return index + bound if index < 0 else index


def _same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False  # 1, 1.0 and true are different values here, though not to Python
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
