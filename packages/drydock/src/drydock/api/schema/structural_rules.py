"""What kube-apiserver demands of a CRD's openAPIV3Schema: structural, with defaults and rules that work."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

from msgspec.json import decode, encode

from drydock.api.answers import causes
from drydock.api.answers.status import Cause
from drydock.api.cel.rules import check_rule
from drydock.api.schema.constraints import type_errors
from drydock.api.schema.patterns import PatternError, compile_pattern
from drydock.api.schema.structural import root_schema, to_schema
from drydock.api.schema.validation import unknown_fields

Declared = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("$ref", "id", "additionalItems", "patternProperties", "definitions", "dependencies")
_NOT_IN_BRANCHES = {  # what allOf, anyOf, oneOf and not may not repeat or add
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
}
_METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"


def schema_errors(declared: Declared, path: str) -> list[Cause]:
    """Everything wrong with the schema of one version. Clusters of one process often get the same definitions."""
    return list(_schema_errors(encode(declared), path))


@lru_cache(maxsize=256)
def _schema_errors(written: bytes, path: str) -> tuple[Cause, ...]:
    declared = decode(written)
    return tuple(_root(declared, path)) or tuple(_rules(declared, path, root=True))


def _root(declared: Declared, path: str) -> Iterator[Cause]:
    if declared.get("nullable"):
        yield causes.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if not declared.get("type"):
        yield causes.required(f"{path}.type", "must not be empty at the root")
    elif declared["type"] != "object":
        yield causes.invalid(f"{path}.type", declared["type"], "must be object at the root")
    elif declared.get("additionalProperties"):
        yield causes.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    metadata = (declared.get("properties") or {}).get("metadata") or {}
    if set(metadata.get("properties") or {}) - {"name", "generateName"} or set(metadata) - {"type", "properties"}:
        yield causes.forbidden(f"{path}.properties[metadata]", _METADATA)
    yield from _node(declared, path)


def _node(declared: Declared, path: str) -> Iterator[Cause]:
    for keyword in _UNSUPPORTED:
        if declared.get(keyword):
            yield causes.forbidden(f"{path}.{keyword}", f"{keyword} is not supported")
    kind = declared.get("type") or ""
    if kind and kind not in _TYPES:
        yield causes.not_supported(f"{path}.type", kind, _TYPES)
        return
    if declared.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield causes.forbidden(f"{path}.uniqueItems", detail)
    if declared.get("additionalProperties") and declared.get("properties"):
        detail = "additionalProperties and properties are mutual exclusive"
        yield causes.forbidden(f"{path}.additionalProperties", detail)
    if kind == "array" and declared.get("items") is None:
        yield causes.required(f"{path}.items", "must be specified")
    yield from _pattern(declared, path)
    yield from _extensions(declared, path)
    yield from _branches(declared, path)
    yield from _children(declared, path)
    yield from _default(declared, path)


def _pattern(declared: Declared, path: str) -> Iterator[Cause]:
    pattern = declared.get("pattern") or ""
    try:
        compile_pattern(pattern)
    except PatternError as problem:
        detail = f"must be a valid regular expression, but isn't: error parsing regexp: {problem}"
        yield causes.invalid(f"{path}.pattern", pattern, detail)


def _children(declared: Declared, path: str) -> Iterator[Cause]:
    for key, child in (declared.get("properties") or {}).items():
        yield from _typed(child, f"{path}.properties[{key}]", "object fields")
    if isinstance(items := declared.get("items"), Mapping):
        yield from _typed(items, f"{path}.items", "array items")
    if isinstance(additional := declared.get("additionalProperties"), Mapping):
        yield from _typed(additional, f"{path}.additionalProperties", "object fields")


def _typed(declared: Declared, path: str, what: str) -> Iterator[Cause]:
    free = declared.get("x-kubernetes-preserve-unknown-fields") or declared.get("x-kubernetes-int-or-string")
    if not declared.get("type") and not free and not declared.get("$ref"):
        yield causes.required(f"{path}.type", f"must not be empty for specified {what}")
    yield from _node(declared, path)


def _extensions(declared: Declared, path: str) -> Iterator[Cause]:
    kind = declared.get("type") or ""
    if declared.get("x-kubernetes-preserve-unknown-fields") is False:
        yield causes.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    if declared.get("x-kubernetes-embedded-resource"):
        if kind != "object":
            yield causes.invalid(f"{path}.type", kind, "must be object if x-kubernetes-embedded-resource is true")
        if not declared.get("properties") and not declared.get("x-kubernetes-preserve-unknown-fields"):
            detail = (
                "must not be empty if x-kubernetes-embedded-resource is true"
                " without x-kubernetes-preserve-unknown-fields"
            )
            yield causes.required(f"{path}.properties", detail)
    if map_type := declared.get("x-kubernetes-map-type"):
        if kind != "object":
            yield causes.invalid(f"{path}.type", kind, "must be object if x-kubernetes-map-type is specified")
        if map_type not in ("atomic", "granular"):
            yield causes.not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
    yield from _list_type(declared, path)


def _list_type(declared: Declared, path: str) -> Iterator[Cause]:
    list_type = declared.get("x-kubernetes-list-type")
    keys = declared.get("x-kubernetes-list-map-keys") or ()
    if keys and list_type != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield causes.invalid(f"{path}.x-kubernetes-list-type", list_type, detail)
    if list_type is None:
        return
    if declared.get("type") != "array":
        yield causes.invalid(
            f"{path}.type", declared.get("type") or "", "must be array if x-kubernetes-list-type is specified"
        )
    if list_type not in ("atomic", "set", "map"):
        yield causes.not_supported(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map"))
    if list_type == "map":
        yield from _list_map(declared, keys, path)


def _list_map(declared: Declared, keys: Any, path: str) -> Iterator[Cause]:
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield causes.required(f"{path}.x-kubernetes-list-map-keys", detail)
        return
    items = declared.get("items") or {}
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield causes.invalid(f"{path}.items.type", items.get("type") or "", detail)
    for key in keys:
        field = (items.get("properties") or {}).get(key)
        if field is None:
            detail = "entries must all be names of item properties"
            yield causes.invalid(f"{path}.x-kubernetes-list-map-keys", list(keys), detail)
        elif key not in (items.get("required") or ()) and field.get("default") is None:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            yield causes.required(f"{path}.items.properties[{key}].default", detail)


def _branches(declared: Declared, path: str) -> Iterator[Cause]:
    whole_number_or_text = declared.get("x-kubernetes-int-or-string")
    for keyword in ("allOf", "anyOf", "oneOf"):
        for index, branch in enumerate(declared.get(keyword) or ()):
            if not (whole_number_or_text and keyword in ("anyOf", "allOf")):
                yield from _branch(branch, f"{path}.{keyword}[{index}]")
    if declared.get("not"):
        yield from _branch(declared["not"], f"{path}.not")


def _branch(declared: Declared, path: str) -> Iterator[Cause]:
    for keyword, detail in _NOT_IN_BRANCHES.items():
        if declared.get(keyword):
            yield causes.forbidden(f"{path}.{keyword}", detail)
    yield from _pattern(declared, path)
    for key, child in (declared.get("properties") or {}).items():
        yield from _branch(child, f"{path}.properties[{key}]")
    if isinstance(items := declared.get("items"), Mapping):
        yield from _branch(items, f"{path}.items")
    yield from _branches(declared, path)


def _default(declared: Declared, path: str) -> Iterator[Cause]:
    if declared.get("default") is None:
        return
    schema = to_schema(declared)
    value = deepcopy(declared["default"])
    if unknown_fields(schema, value):
        yield causes.invalid(f"{path}.default", value, "must not have unknown fields")
    for cause in type_errors(schema, value):
        yield Cause(cause.reason, cause.message, f"{path}.default{cause.field and '.'}{cause.field}")


def _rules(declared: Declared, path: str, *, root: bool = False, uncorrelatable: str = "") -> Iterator[Cause]:
    if rules := declared.get("x-kubernetes-validations"):
        schema = root_schema(declared) if root else to_schema(declared)
        for index, rule in enumerate(rules):
            here = f"{path}.x-kubernetes-validations[{index}]"
            yield from check_rule(schema, schema.rules[index], rule, here, uncorrelatable)
    for key, child in (declared.get("properties") or {}).items():
        yield from _rules(child, f"{path}.properties[{key}]", uncorrelatable=uncorrelatable)
    if isinstance(items := declared.get("items"), Mapping):
        lost = uncorrelatable or ("" if declared.get("x-kubernetes-list-type") == "map" else path)
        yield from _rules(items, f"{path}.items", uncorrelatable=lost)
    if isinstance(additional := declared.get("additionalProperties"), Mapping):
        yield from _rules(additional, f"{path}.additionalProperties", uncorrelatable=uncorrelatable)
