"""From a CRD's openAPIV3Schema to a `Schema`. What must hold for that is checked by `structural_rules.py`."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from msgspec.json import decode, encode

from drydock.api.schema.shape import STRING, Rule, Schema
from drydock.api.types import LIBRARY

_TYPE_META = {
    "apiVersion": replace(STRING, description="the group and version this object is written in"),
    "kind": replace(STRING, description="the kind of this object"),
}
_COPIED = {
    "format": "format",
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "nullable": "nullable",
    "default": "default",
    "description": "description",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded_resource",
    "x-kubernetes-list-type": "list_type",
}


def root_schema(declared: Mapping[str, Any], name: str = "") -> Schema:
    """The shape of a whole custom object: what is declared, and what every object has. Equal text, the same shape."""
    return _root_schema(encode(declared), name)


@lru_cache(maxsize=256)
def _root_schema(declared: bytes, name: str) -> Schema:
    schema = to_schema(decode(declared))
    metadata = replace(LIBRARY["meta.ObjectMeta"], description="name, labels and the like")
    if limited := schema.properties.get("metadata"):
        constrained = {key: replace(shape, name="") for key, shape in limited.properties.items()}
        metadata = replace(metadata, properties={**metadata.properties, **constrained})
    properties = {**_TYPE_META, "metadata": metadata}
    properties |= {key: shape for key, shape in schema.properties.items() if key not in properties}
    return replace(schema, properties=properties, name=name)


def to_schema(declared: Mapping[str, Any]) -> Schema:
    """One node of a CRD's schema, with everything below it."""
    values: dict[str, Any] = {
        ours: declared[theirs] for theirs, ours in _COPIED.items() if declared.get(theirs) is not None
    }
    properties = {key: to_schema(shape) for key, shape in (declared.get("properties") or {}).items()}
    required = tuple(declared.get("required") or ())
    if declared.get("x-kubernetes-embedded-resource"):
        properties = {**_TYPE_META, "metadata": LIBRARY["meta.ObjectMeta"], **properties}
        required = ("apiVersion", "kind", *(key for key in required if key not in ("apiVersion", "kind")))
    return Schema(
        type=_type(declared),
        properties=properties,
        required=required,
        additional=_additional(declared.get("additionalProperties")),
        items=to_schema(declared["items"]) if declared.get("items") else None,
        list_keys=tuple(declared.get("x-kubernetes-list-map-keys") or ()),
        atomic_map=declared.get("x-kubernetes-map-type") == "atomic",
        enum=tuple(declared.get("enum") or ()),
        rules=tuple(_rule(rule) for rule in declared.get("x-kubernetes-validations") or ()),
        all_of=tuple(to_schema(branch) for branch in declared.get("allOf") or ()),
        any_of=_any_of(declared),
        one_of=tuple(to_schema(branch) for branch in declared.get("oneOf") or ()),
        none_of=to_schema(declared["not"]) if declared.get("not") else None,
        **values,
    )


def _type(declared: Mapping[str, Any]) -> Any:
    if declared.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    return declared.get("type") or "any"


def _any_of(declared: Mapping[str, Any]) -> tuple[Schema, ...]:
    # The two branches that say again that it is an integer or a string need no second check.
    if declared.get("x-kubernetes-int-or-string"):
        return ()
    return tuple(to_schema(branch) for branch in declared.get("anyOf") or ())


def _additional(declared: Any) -> Schema | None:
    match declared:
        case True:
            return Schema(preserve_unknown=True)
        case dict():
            return to_schema(declared)
        case _:
            return None


def _rule(declared: Mapping[str, Any]) -> Rule:
    return Rule(
        expression=declared.get("rule", ""),
        message=declared.get("message", ""),
        field_path=declared.get("fieldPath", ""),
        reason=declared.get("reason") or "FieldValueInvalid",
        message_expression=declared.get("messageExpression", ""),
        optional_old_self=bool(declared.get("optionalOldSelf")),
    )
