"""The shape of an object: one description for validation, defaults, patches, apply and OpenAPI.

Built-in kinds are written down with the constructors below; custom kinds come from their CRD's
openAPIV3Schema (`structural.py`). Everything that walks objects walks them along a `Schema`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SchemaType = Literal["object", "array", "string", "integer", "number", "boolean", "int-or-string", "any"]
ListType = Literal["atomic", "set", "map"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL validation rule of a custom kind."""

    expression: str
    message: str = ""
    field_path: str = ""
    reason: str = "FieldValueInvalid"
    message_expression: str = ""
    optional_old_self: bool = False  # also evaluated on create, with oldSelf as an optional


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One node of a shape. `properties` are known fields, `additional` the values of a free map.

    Compared by identity: shapes may contain themselves.
    """

    type: SchemaType = "any"
    format: str = ""  # int32, int64, date-time, byte, quantity
    properties: Mapping[str, "Schema"] = field(default_factory=dict)
    additional: "Schema | None" = None
    items: "Schema | None" = None
    required: tuple[str, ...] = ()
    # server-side apply and strategic merge
    list_type: ListType = "atomic"
    list_keys: tuple[str, ...] = ()
    atomic_map: bool = False
    patch_key: str = ""  # strategic merge key; for most lists the first of list_keys
    patch_retain_keys: bool = False  # strategic `retainKeys`: a union such as a volume source
    patch_replace: bool = False  # strategic `replace` of an object that would be merged
    # values
    default: Any = None
    enum: tuple[Any, ...] = ()
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    multiple_of: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    nullable: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    rules: tuple[Rule, ...] = ()
    # further constraints on the same value, which add no fields
    all_of: tuple["Schema", ...] = ()
    any_of: tuple["Schema", ...] = ()
    one_of: tuple["Schema", ...] = ()
    none_of: "Schema | None" = None  # OpenAPI's `not`
    description: str = ""
    name: str = ""  # the OpenAPI definition's name, such as io.k8s.api.core.v1.PodSpec; empty for anonymous shapes

    def child(self, key: str) -> "Schema":
        """The shape of a field; `ANY` when it is not known."""
        return self.properties.get(key) or self.additional or ANY


ANY = Schema(preserve_unknown=True)
STRING = Schema("string")
INTEGER = Schema("integer", "int64")
INT32 = Schema("integer", "int32")
BOOLEAN = Schema("boolean")
NUMBER = Schema("number")
TIME = Schema("string", "date-time")
BYTES = Schema("string", "byte")
QUANTITY = Schema("string", "quantity")
INT_OR_STRING = Schema("int-or-string")
