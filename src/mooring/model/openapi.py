"""An OpenAPI document, read for people: groups, endpoints, parameters, schemas. Whatever it holds is hostile text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from mooring.model.errors import MooringError

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
MOST_ENDPOINTS = 2_000
MOST_SCHEMAS = 1_000
_MOST_DEPTH = 6
_MOST_CHARACTERS = 2_000

Json = Mapping[str, Any]


class NotADocument(MooringError):
    """It is no OpenAPI document."""

    code = "not_an_openapi_document"


class Field(msgspec.Struct, frozen=True):
    """A parameter, or a property of a schema."""

    name: str
    type: str
    place: str = ""  # of a parameter: path, query, header, cookie
    required: bool = False
    description: str = ""


class Reply(msgspec.Struct, frozen=True):
    """One way an endpoint answers."""

    code: str
    description: str
    type: str = ""


class Endpoint(msgspec.Struct, frozen=True):
    """One method of one path."""

    method: str
    path: str
    group: str
    summary: str = ""
    description: str = ""
    deprecated: bool = False
    parameters: tuple[Field, ...] = ()
    body: str = ""
    replies: tuple[Reply, ...] = ()


class Schema(msgspec.Struct, frozen=True):
    """A named shape."""

    name: str
    type: str
    description: str = ""
    fields: tuple[Field, ...] = ()
    values: tuple[str, ...] = ()  # of an enumeration


class ApiDocument(msgspec.Struct, frozen=True):
    """All of it, but of an endless one only the first part; the counts are the true ones."""

    title: str
    version: str
    description: str
    endpoints: tuple[Endpoint, ...]
    schemas: tuple[Schema, ...]
    endpoint_count: int
    schema_count: int

    @property
    def groups(self) -> dict[str, list[Endpoint]]:
        """The endpoints by the first of their tags, in the document's order."""
        found: dict[str, list[Endpoint]] = {}
        for endpoint in self.endpoints:
            found.setdefault(endpoint.group, []).append(endpoint)
        return found


def parse_document(body: bytes) -> ApiDocument:
    """From JSON; `NotADocument` says what is wrong with it."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NotADocument(f"it is not JSON: {error}") from error
    return read_document(found)


def read_document(found: object) -> ApiDocument:
    """From plain data. A part that is not as it should be is left out; what makes it a document must be there."""
    if not isinstance(found, Mapping):
        raise NotADocument("it is not a JSON object")
    version = found.get("openapi") or found.get("swagger")
    if not isinstance(version, str) or not version.startswith(("2.", "3.")):
        raise NotADocument("it does not say which OpenAPI version it is: there is no `openapi: 3.x`")
    if not isinstance(found.get("paths"), Mapping):
        raise NotADocument("it has no `paths`")
    info = _mapping(found.get("info"))
    reader = _Reader(found)
    endpoints, schemas = list(reader.endpoints()), list(reader.schemas())
    return ApiDocument(
        title=_text(info.get("title")) or "untitled",
        version=_text(info.get("version")),
        description=_text(info.get("description")),
        endpoints=tuple(endpoints[:MOST_ENDPOINTS]),
        schemas=tuple(schemas[:MOST_SCHEMAS]),
        endpoint_count=len(endpoints),
        schema_count=len(schemas),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Walks the document; references are followed once, never expanded."""

    root: Json

    def endpoints(self) -> Iterator[Endpoint]:
        for path, item in _mapping(self.root.get("paths")).items():
            item = self._resolve(item)
            for method in METHODS:
                operation = item.get(method)
                if isinstance(operation, Mapping):
                    yield self._endpoint(str(path), method, item, operation)

    def _endpoint(self, path: str, method: str, item: Json, operation: Json) -> Endpoint:
        tags = [tag for tag in _list(operation.get("tags")) if isinstance(tag, str) and tag]
        own = [self._resolve(one) for one in _list(operation.get("parameters"))]
        shared = [self._resolve(one) for one in _list(item.get("parameters"))]
        named = {(one.get("name"), one.get("in")) for one in own}
        parameters = [*own, *(one for one in shared if (one.get("name"), one.get("in")) not in named)]
        told = [one for one in parameters if isinstance(one.get("name"), str) and one.get("in") != "body"]
        return Endpoint(
            method=method,
            path=path[:_MOST_CHARACTERS],
            group=_text(tags[0]) if tags else "endpoints",
            summary=_text(operation.get("summary")) or _text(operation.get("operationId")),
            description=_text(operation.get("description")),
            deprecated=operation.get("deprecated") is True,
            parameters=tuple(self._parameter(one) for one in told),
            body=self._body(operation, parameters),
            replies=tuple(self._replies(operation)),
        )

    def _parameter(self, one: Json) -> Field:
        return Field(
            name=_text(one["name"]),
            type=describe_type(one.get("schema") or one),
            place=_text(one.get("in")),
            required=one.get("required") is True,
            description=_text(one.get("description")),
        )

    def _body(self, operation: Json, parameters: list[Json]) -> str:
        body = self._resolve(operation.get("requestBody"))
        if body:
            return _content_type(body)
        # Swagger 2 sends the body as one of the parameters.
        return next((describe_type(one.get("schema")) for one in parameters if one.get("in") == "body"), "")

    def _replies(self, operation: Json) -> Iterator[Reply]:
        for code, reply in _mapping(operation.get("responses")).items():
            found = self._resolve(reply)
            kind = _content_type(found) or (describe_type(found["schema"]) if "schema" in found else "")
            yield Reply(str(code)[:20], _text(found.get("description")), kind)

    def schemas(self) -> Iterator[Schema]:
        components = _mapping(_mapping(self.root.get("components")).get("schemas"))
        named = components or _mapping(self.root.get("definitions"))
        for name, schema in named.items():
            schema = _mapping(schema)
            required = {one for one in _list(schema.get("required")) if isinstance(one, str)}
            fields = tuple(
                Field(_text(key), describe_type(one), "", key in required, _text(_mapping(one).get("description")))
                for key, one in _mapping(schema.get("properties")).items()
            )
            values = tuple(_text(str(value)) for value in _list(schema.get("enum")))
            yield Schema(_text(name), describe_type(schema), _text(schema.get("description")), fields, values)

    def _resolve(self, part: object) -> Json:
        """The part itself, or what its reference within the document leads to."""
        found = _mapping(part)
        reference = found.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return found
        target: object = self.root
        for step in reference[2:].split("/"):
            target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
        return _mapping(target)


def describe_type(schema: object, depth: int = 0) -> str:
    """A schema in a few words: `array of Pet`, `string (date-time)`, `A or B`."""
    found = _mapping(schema)
    if isinstance(reference := found.get("$ref"), str):
        return _text(reference.rsplit("/", 1)[-1])
    if depth >= _MOST_DEPTH:
        return "…"
    for word, joint in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
        if parts := [describe_type(one, depth + 1) for one in _list(found.get(word))[:10]]:
            return joint.join(dict.fromkeys(parts))
    kinds = found.get("type")
    names = [kinds] if isinstance(kinds, str) else [one for one in _list(kinds) if isinstance(one, str)]
    if names == ["array"]:
        return f"array of {describe_type(found.get('items'), depth + 1)}"
    told = " or ".join(names) or ("object" if "properties" in found else "any")
    shown = f"{told} ({_text(found['format'])})" if isinstance(found.get("format"), str) else told
    return shown[:_MOST_CHARACTERS]


def _content_type(part: Json) -> str:
    """The type of the first kind of content that a body or an answer comes in."""
    for kind, content in _mapping(part.get("content")).items():
        schema = _mapping(content).get("schema")
        return describe_type(schema) if schema is not None else _text(kind)
    return ""


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else ""
