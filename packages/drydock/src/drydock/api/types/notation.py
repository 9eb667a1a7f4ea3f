"""The notation in which the shapes of built-in kinds are written down, and its reader.

    DeploymentSpec -- how many pods, which ones, and how they are replaced
      int32: replicas -- how many pods to keep
      meta.LabelSelector: selector!
      [DeploymentCondition]: conditions (map type)

A heading names a shape; a line below it gives a type and the fields that have it. `!` marks a field that is always
there, `[T]` a list, `{T}` a map, `x.T` a shape of another package. In parentheses: how lists and maps merge.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from drydock.api.schema.shape import (
    ANY,
    BOOLEAN,
    BYTES,
    INT32,
    INT_OR_STRING,
    INTEGER,
    NUMBER,
    QUANTITY,
    STRING,
    TIME,
    Schema,
)

_HEADING = re.compile(r"(?P<name>\w+)(?: \((?P<options>[^)]*)\))?(?: -- (?P<description>.+))?$")
_NAME = r"[A-Za-z$][\w$-]*!?"
_FIELDS = re.compile(
    rf"  (?P<type>[^:]+): (?P<names>{_NAME}(?: {_NAME})*)(?: \((?P<options>[^)]*)\))?(?: -- (?P<description>.+))?$"
)

MICRO_TIME = Schema("string", "date-time", name="io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime")
RAW = Schema("object", preserve_unknown=True)

_SIMPLE: dict[str, Schema] = {
    "string": STRING,
    "int32": INT32,
    "int64": INTEGER,
    "double": NUMBER,
    "bool": BOOLEAN,
    "time": TIME,
    "microtime": MICRO_TIME,
    "bytes": BYTES,
    "quantity": QUANTITY,
    "int-or-string": INT_OR_STRING,
    "raw": RAW,
    "any": ANY,
}


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a shape: fields that share a type."""

    type: str
    names: tuple[str, ...]
    options: Mapping[str, str]
    description: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """One shape as written."""

    package: str
    name: str
    options: Mapping[str, str]
    description: str
    fields: list[Field] = field(default_factory=list)


class NotationError(ValueError):
    """A line of the notation that cannot be read."""


def parse(package: str, text: str) -> Iterator[Declaration]:
    """The shapes written in `text`."""
    current: Declaration | None = None
    for line in filter(str.strip, text.splitlines()):
        if heading := _HEADING.match(line):
            if current is not None:
                yield current
            options = _options(heading["options"])
            current = Declaration(package, heading["name"], options, heading["description"] or "")
        elif (fields := _FIELDS.match(line)) and current is not None:
            names = tuple(fields["names"].split())
            current.fields.append(
                Field(fields["type"], names, _options(fields["options"]), fields["description"] or "")
            )
        else:
            raise NotationError(f"{package}: {line!r}")
    if current is not None:
        yield current


def _options(text: str | None) -> dict[str, str]:
    if not text:
        return {}
    words = (part.strip().partition(" ") for part in text.split(";"))
    return {name: value for name, _, value in words}


class Library:
    """All shapes by name. They refer to each other, JSONSchemaProps even to itself, so fields are filled in last."""

    def __init__(self, declarations: Iterator[Declaration]) -> None:
        self._schemas: dict[str, Schema] = {}
        self._packages: dict[str, str] = {}
        written = list(declarations)
        properties: dict[str, dict[str, Schema]] = {}
        for declared in written:
            name = f"{declared.package}.{declared.name}"
            if name in self._schemas:
                raise NotationError(f"{name} is declared twice")
            self._packages[declared.package.split(".")[-2]] = declared.package
            properties[name] = {}
            self._schemas[name] = _empty(declared, name, properties[name])
        for declared in written:
            properties[f"{declared.package}.{declared.name}"].update(self._fields(declared))

    def __getitem__(self, name: str) -> Schema:
        """A shape by its short name, such as `core.Pod`."""
        package, _, short = name.partition(".")
        return self._schemas[f"{self._packages[package]}.{short}"]

    def definitions(self) -> Mapping[str, Schema]:
        """Every shape by its full name."""
        return self._schemas

    def _fields(self, declared: Declaration) -> Iterator[tuple[str, Schema]]:
        if "kind" in declared.options:
            yield "apiVersion", replace(STRING, description="the group and version this object is written in")
            yield "kind", replace(STRING, description="the kind of this object")
            yield "metadata", replace(self["meta.ObjectMeta"], description="name, labels and the like")
        for line in declared.fields:
            schema = _with_options(self._type(line.type, declared.package), line)
            for name in line.names:
                yield name.removesuffix("!"), schema

    def _type(self, text: str, package: str) -> Schema:
        match text[0]:
            case "[":
                return Schema("array", items=self._type(text[1:-1], package))
            case "{":
                return Schema("object", additional=self._type(text[1:-1], package))
        if text in _SIMPLE:
            return _SIMPLE[text]
        return self[text] if "." in text else self._schemas[f"{package}.{text}"]


def _empty(declared: Declaration, name: str, properties: dict[str, Schema]) -> Schema:
    required = [field_name[:-1] for line in declared.fields for field_name in line.names if field_name.endswith("!")]
    return Schema(
        "object",
        properties=properties,
        required=tuple(sorted(required)),
        atomic_map="atomic" in declared.options,
        description=declared.description,
        name=name,
    )


def _with_options(schema: Schema, line: Field) -> Schema:
    changes: dict[str, Any] = {"description": line.description or schema.description}
    for option, value in line.options.items():
        match option:
            case "map":
                keys = tuple(value.split(","))
                changes |= {"list_type": "map", "list_keys": keys}
                changes.setdefault("patch_key", keys[0])
            case "set":
                changes["list_type"] = "set"
            case "patch":
                changes["patch_key"] = value
            case "replace":
                changes |= {"patch_key": "", "patch_replace": True}
            case "retain":
                changes["patch_retain_keys"] = True
            case "atomic" | "granular":
                changes["atomic_map"] = option == "atomic"
            case "default":
                changes["default"] = value
            case _:
                raise NotationError(f"unknown option {option!r} of {line.names}")
    return replace(schema, **changes)
