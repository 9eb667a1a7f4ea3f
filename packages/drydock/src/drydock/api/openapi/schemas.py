"""Schemas as OpenAPI writes them, version 2 or 3, with Kubernetes' own extensions."""

from collections.abc import Iterable
from typing import Any, Literal

from drydock.api.kinds.kind import Kind
from drydock.api.schema.shape import Rule, Schema
from drydock.api.types import LIBRARY

OpenApiVersion = Literal[2, 3]
Definitions = dict[str, dict[str, Any]]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
LIST_META = f"{_META}.ListMeta"
STATUS = f"{_META}.Status"
DELETE_OPTIONS = f"{_META}.DeleteOptions"
PATCH = f"{_META}.Patch"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_TIME = f"{_META}.Time"
_MICRO_TIME = f"{_META}.MicroTime"
_SCALARS: Definitions = {
    _QUANTITY: {"type": "string", "description": "an amount such as 500m, 2 or 1Gi"},
    _INT_OR_STRING: {"type": "string", "format": "int-or-string", "description": "a whole number, or a percentage"},
    _TIME: {"type": "string", "format": "date-time", "description": "a moment, to the second"},
    _MICRO_TIME: {"type": "string", "format": "date-time", "description": "a moment, to the microsecond"},
    PATCH: {"type": "object", "description": "a change, in one of the patch formats"},
}
_CONSTRAINTS = {
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "multiple_of": "multipleOf",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
}


class SchemaWriter:
    """Writes shapes, and remembers the named ones that they lead to."""

    def __init__(self, version: OpenApiVersion) -> None:
        self._version = version
        self._prefix = "#/definitions/" if version == 2 else "#/components/schemas/"
        self.definitions: Definitions = {}

    def add_kind(self, kind: Kind) -> None:
        """Define the kind, its list, and everything below them."""
        name = kind.schema.name
        self._define(name, kind.schema)
        self.definitions[name]["x-kubernetes-group-version-kind"] = [_identity(kind, kind.kind)]
        self.definitions[f"{name}List"] = {
            "type": "object",
            "description": f"a list of {kind.kind}",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "items": {"type": "array", "items": self.reference(name)},
                "metadata": self.reference(LIST_META),
            },
            "x-kubernetes-group-version-kind": [_identity(kind, f"{kind.kind}List")],
        }

    def reference(self, name: str) -> dict[str, Any]:
        """A reference to a named shape, which is defined with it."""
        if name in _SCALARS:
            self.definitions.setdefault(name, self._scalar(name))
        elif name in LIBRARY.definitions():
            self._define(name, LIBRARY.definitions()[name])
        return {"$ref": self._prefix + name}

    def _scalar(self, name: str) -> dict[str, Any]:
        if self._version == 2 or name not in (_QUANTITY, _INT_OR_STRING):
            return _SCALARS[name]
        other = "number" if name == _QUANTITY else "integer"
        rest = {key: value for key, value in _SCALARS[name].items() if key != "type"}
        return {"oneOf": [{"type": "string"}, {"type": other}], **rest}

    def _define(self, name: str, schema: Schema) -> None:
        if name not in self.definitions:
            self.definitions[name] = {}  # holds the place: shapes may lead back to themselves
            self.definitions[name].update(self._body(schema, builtin=name in LIBRARY.definitions()))

    def _node(self, schema: Schema, *, builtin: bool) -> dict[str, Any]:
        name = _named(schema, builtin=builtin)
        if not name:
            return self._body(schema, builtin=builtin)
        extra = _extensions(schema) | _described(schema)
        extra.pop("x-kubernetes-map-type", None)  # the definition says it, unless this field has its own way
        defined = LIBRARY.definitions().get(name)
        if defined is not None and schema.atomic_map != defined.atomic_map:
            extra["x-kubernetes-map-type"] = "atomic" if schema.atomic_map else "granular"
        reference = self.reference(name)
        if self._version == 3 and extra:
            return {"allOf": [reference], **extra}
        return {**reference, **extra}

    def _body(self, schema: Schema, *, builtin: bool) -> dict[str, Any]:
        node = _described(schema)
        if schema.type not in ("any", "int-or-string"):
            node["type"] = schema.type
        if schema.format and schema.format != "quantity":
            node["format"] = schema.format
        if schema.default is not None:
            node["default"] = schema.default
        # kubectl would refuse what it does not find among the properties: where more is allowed, v2 names none.
        opaque = self._version == 2 and schema.preserve_unknown and not schema.name
        if schema.properties and not opaque:
            node["properties"] = {
                key: self._node(shape, builtin=builtin or bool(shape.name)) for key, shape in schema.properties.items()
            }
        if schema.required:
            node["required"] = list(schema.required)
        if schema.items is not None and not opaque:
            node["items"] = self._node(schema.items, builtin=builtin)
        if schema.additional is not None:
            node["additionalProperties"] = self._node(schema.additional, builtin=builtin)
        return node | _extensions(schema) | _constraints(schema) | self._combinations(schema, builtin=builtin)

    def _combinations(self, schema: Schema, *, builtin: bool) -> dict[str, Any]:
        if self._version == 2:
            return {}
        found: dict[str, Any] = {}
        for keyword, branches in (("allOf", schema.all_of), ("anyOf", schema.any_of), ("oneOf", schema.one_of)):
            if branches:
                found[keyword] = [self._body(branch, builtin=builtin) for branch in branches]
        if schema.none_of is not None:
            found["not"] = self._body(schema.none_of, builtin=builtin)
        if schema.nullable:
            found["nullable"] = True
        if schema.rules:
            found["x-kubernetes-validations"] = [_rule(rule) for rule in schema.rules]
        return found


def _identity(kind: Kind, name: str) -> dict[str, str]:
    return {"group": kind.group, "kind": name, "version": kind.version}


def _named(schema: Schema, *, builtin: bool) -> str:
    if schema.name or not builtin:
        return schema.name
    if schema.type == "int-or-string":
        return _INT_OR_STRING
    return {"quantity": _QUANTITY, "date-time": _TIME}.get(schema.format, "")


def _described(schema: Schema) -> dict[str, Any]:
    return {"description": schema.description} if schema.description else {}


def _extensions(schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if schema.type == "array":
        found["x-kubernetes-list-type"] = schema.list_type
        if schema.list_keys:
            found["x-kubernetes-list-map-keys"] = list(schema.list_keys)
    if schema.atomic_map:
        found["x-kubernetes-map-type"] = "atomic"
    if schema.patch_key:
        found["x-kubernetes-patch-merge-key"] = schema.patch_key
    if strategy := _patch_strategy(schema):
        found["x-kubernetes-patch-strategy"] = strategy
    if schema.type == "int-or-string":
        found["x-kubernetes-int-or-string"] = True
    if schema.preserve_unknown and not schema.name:
        found["x-kubernetes-preserve-unknown-fields"] = True
    if schema.embedded_resource:
        found["x-kubernetes-embedded-resource"] = True
    return found


def _patch_strategy(schema: Schema) -> str:
    merges = schema.patch_key or (schema.list_type == "set" and not schema.patch_replace)
    if schema.patch_replace and schema.type == "object":
        return "replace"
    return ",".join(word for word, holds in (("merge", merges), ("retainKeys", schema.patch_retain_keys)) if holds)


def _constraints(schema: Schema) -> dict[str, Any]:
    found = {
        theirs: getattr(schema, ours)
        for ours, theirs in _CONSTRAINTS.items()
        if getattr(schema, ours) not in (None, "")
    }
    if schema.exclusive_minimum:
        found["exclusiveMinimum"] = True
    if schema.exclusive_maximum:
        found["exclusiveMaximum"] = True
    if schema.enum:
        found["enum"] = list(schema.enum)
    return found


def _rule(rule: Rule) -> dict[str, Any]:
    written = {
        "rule": rule.expression,
        "message": rule.message,
        "messageExpression": rule.message_expression,
        "fieldPath": rule.field_path,
    }
    return {key: value for key, value in written.items() if value}


def write_kinds(kinds: Iterable[Kind], version: OpenApiVersion) -> SchemaWriter:
    """The definitions of some kinds."""
    writer = SchemaWriter(version)
    for name in (STATUS, DELETE_OPTIONS, PATCH, LIST_META):
        writer.reference(name)
    for kind in kinds:
        writer.add_kind(kind)
    return writer
