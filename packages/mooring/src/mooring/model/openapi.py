"""Parser of OpenAPI documents: groups, endpoints, parameters, schemas. All text in it is untrusted."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec

from mooring.model.errors import MooringError

UNGROUPED = "endpoints"  # the group of endpoints without a tag
METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
MOST_ENDPOINTS = 2_000
MOST_SCHEMAS = 1_000
MOST_STEPS = 100_000  # for the endpoints, and again for the schemas: bounds the time that one document can take
_MOST_PARTS = 100  # of one endpoint or schema: parameters, answers, fields, values
_MOST_CHOICES = 10
_MOST_DEPTH = 6
_MOST_CHARACTERS = 2_000
_CHARACTERS_A_STEP = 100

Json = dict[str, Any]
T = TypeVar("T")


class NotADocument(MooringError):
    """The text is not an OpenAPI document."""

    code = "not_an_openapi_document"


class Field(msgspec.Struct, frozen=True):
    """A parameter, or a property of a schema."""

    name: str
    type: str
    place: str = ""  # of a parameter: path, query, header, cookie
    required: bool = False
    description: str = ""


class Reply(msgspec.Struct, frozen=True):
    """One response of an endpoint."""

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
    """A named schema."""

    name: str
    type: str
    description: str = ""
    fields: tuple[Field, ...] = ()
    values: tuple[str, ...] = ()  # of an enumeration


class ApiDocument(msgspec.Struct, frozen=True):
    """The document. Of a very large one only the first parts are kept; the counts are complete."""

    title: str
    version: str
    description: str
    endpoints: tuple[Endpoint, ...]
    schemas: tuple[Schema, ...]
    endpoint_count: int
    schema_count: int
    abridged: bool = False  # whether parts were left out
    group_count: int = 0
    methods: dict[str, int] = {}  # endpoints of each method, in the order of METHODS
    documentation: str = ""  # where the API says that it is documented (externalDocs): a URL or a path, untrusted
    documentation_title: str = ""

    @property
    def groups(self) -> dict[str, list[Endpoint]]:
        """The endpoints by their first tag, in the order of the document."""
        found: dict[str, list[Endpoint]] = {}
        for endpoint in self.endpoints:
            found.setdefault(endpoint.group, []).append(endpoint)
        return found


def parse_document(body: bytes) -> ApiDocument:
    """From JSON; `NotADocument` says what is wrong."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NotADocument(f"it is not JSON: {error}") from error
    return read_document(found)


def read_document(found: object) -> ApiDocument:
    """From plain data. Malformed parts are left out; the mandatory parts of a document must be there."""
    if not isinstance(found, dict):
        raise NotADocument("it is not a JSON object")
    version = found.get("openapi") or found.get("swagger")
    if not isinstance(version, str) or not version.startswith(("2.", "3.")):
        raise NotADocument("it does not say which OpenAPI version it is: there is no `openapi: 3.x`")
    if not isinstance(found.get("paths"), dict):
        raise NotADocument("it has no `paths`")
    info = _mapping(found.get("info"))
    operations, shapes = _Operations(found), _Shapes(found)
    endpoints = tuple(operations.endpoints())
    elsewhere = _mapping(found.get("externalDocs"))
    schemas = tuple(shapes.schemas())
    return ApiDocument(
        title=_text(info.get("title")) or "untitled",
        version=_text(info.get("version")),
        description=_text(info.get("description")),
        endpoints=endpoints,
        schemas=schemas,
        endpoint_count=operations.count,
        schema_count=len(shapes.named),
        abridged=operations.abridged or shapes.abridged,
        group_count=len(operations.groups),
        methods={method: operations.methods[method] for method in METHODS if operations.methods[method]},
        documentation=_text(elsewhere.get("url")),
        documentation_title=_text(elsewhere.get("description")),
    )


@dataclass(slots=True)
class _Reader:
    """Reads parts of a document until its budget of steps is used up.

    A reference is a few bytes and can stand for most of the document, so the reader limits what it reads.
    """

    root: Json
    steps: int = MOST_STEPS
    abridged: bool = False
    targets: dict[str, Json] = field(default_factory=dict)

    def some(self, parts: Iterable[T], count: int) -> Iterator[T]:
        """The first parts; each costs one step."""
        looked = 0
        for part in islice(parts, _MOST_PARTS):
            if not self.take(1):
                break
            looked += 1
            yield part
        self.abridged = self.abridged or looked < count

    def take(self, steps: int) -> bool:
        """Whether that many steps were left."""
        self.steps -= steps
        self.abridged = self.abridged or self.steps < 0
        return self.steps >= 0

    def text(self, value: object) -> str:
        """A text; it costs steps by its length."""
        shown = _text(value)
        return shown if self.take(len(shown) // _CHARACTERS_A_STEP) else ""

    def resolve(self, part: object) -> Json:
        """The part itself, or the target of its reference within the document; resolved once, never expanded."""
        found = _mapping(part)
        reference = found.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return found
        target = self.targets.get(reference)
        if target is None:
            target = self.targets[reference] = self._follow(reference)
        return target

    def _follow(self, reference: str) -> Json:
        target = self.root
        for step in reference[2:].split("/"):
            target = _mapping(target.get(step.replace("~1", "/").replace("~0", "~")))
            if not target:
                break
        return target

    def type_of(self, schema: object, depth: int = 0) -> str:
        """A schema in short form: `array of Pet`, `string (date-time)`, `A or B`."""
        found = _mapping(schema)
        if isinstance(reference := found.get("$ref"), str):
            return self.text(reference[-_MOST_CHARACTERS:].rsplit("/", 1)[-1])
        if depth >= _MOST_DEPTH or not self.take(1):
            return "…"
        for word, joint in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
            if parts := [self.type_of(one, depth + 1) for one in _list(found.get(word))[:_MOST_CHOICES]]:
                return joint.join(dict.fromkeys(parts))[:_MOST_CHARACTERS]
        kinds = found.get("type")
        named = [kinds] if isinstance(kinds, str) else _list(kinds)[:_MOST_CHOICES]
        names = [self.text(one) for one in named if isinstance(one, str)]
        if names == ["array"]:
            return f"array of {self.type_of(found.get('items'), depth + 1)}"[:_MOST_CHARACTERS]
        message = " or ".join(names) or ("object" if "properties" in found else "any")
        shape = self.text(found.get("format"))
        return (f"{message} ({shape})" if shape else message)[:_MOST_CHARACTERS]

    def content_type(self, part: Json) -> str:
        """The type of the first content of a body or a response."""
        for kind, content in _mapping(part.get("content")).items():
            schema = _mapping(content).get("schema")
            return self.type_of(schema) if schema is not None else self.text(kind)
        return ""


@dataclass(slots=True)
class _Operations(_Reader):
    """Reads the endpoints: all are counted, only the first are kept."""

    count: int = 0
    groups: set[str] = field(default_factory=set)
    methods: Counter[str] = field(default_factory=Counter)

    def endpoints(self) -> Iterator[Endpoint]:
        for path, item in _mapping(self.root.get("paths")).items():
            item = self.resolve(item)
            for method in METHODS if item else ():
                operation = item.get(method)
                if not isinstance(operation, dict):
                    continue
                self.count += 1
                self.methods[method] += 1
                self.groups.add(_group(operation))
                if self.count <= MOST_ENDPOINTS:
                    yield self._endpoint(path, method, item, operation)

    def _endpoint(self, path: str, method: str, item: Json, operation: Json) -> Endpoint:
        parameters = self._parameters(_list(operation.get("parameters")), _list(item.get("parameters")))
        return Endpoint(
            method=method,
            path=str(path)[:_MOST_CHARACTERS],
            group=self.text(_group(operation)) or UNGROUPED,
            summary=self.text(operation.get("summary")) or self.text(operation.get("operationId")),
            description=self.text(operation.get("description")),
            deprecated=operation.get("deprecated") is True,
            parameters=tuple(self._parameter(one) for one in parameters if one["in"] != "body"),
            body=self._body(operation, parameters),
            replies=tuple(self._replies(_mapping(operation.get("responses")))),
        )

    def _parameters(self, own: list[Any], shared: list[Any]) -> list[Json]:
        """Parameters with a name and a place. The parameters of an operation override those of its path."""
        found: dict[tuple[str, str], Json] = {}
        for part in self.some(chain(own, shared), len(own) + len(shared)):
            one = self.resolve(part)
            name, place = one.get("name"), one.get("in")
            if isinstance(name, str) and isinstance(place, str):
                found.setdefault((name, place), one)
        return list(found.values())

    def _parameter(self, one: Json) -> Field:
        return Field(
            name=self.text(one["name"]),
            type=self.type_of(one.get("schema") or one),
            place=self.text(one["in"]),
            required=one.get("required") is True,
            description=self.text(one.get("description")),
        )

    def _body(self, operation: Json, parameters: list[Json]) -> str:
        if body := self.resolve(operation.get("requestBody")):
            return self.content_type(body)
        # In Swagger 2 the body is one of the parameters.
        return next((self.type_of(one.get("schema")) for one in parameters if one["in"] == "body"), "")

    def _replies(self, replies: Json) -> Iterator[Reply]:
        for code, reply in self.some(replies.items(), len(replies)):
            found = self.resolve(reply)
            kind = self.content_type(found) or (self.type_of(found["schema"]) if "schema" in found else "")
            yield Reply(str(code)[:20], self.text(found.get("description")), kind)


@dataclass(slots=True)
class _Shapes(_Reader):
    """Reads the named schemas: only the first are kept."""

    @property
    def named(self) -> Json:
        components = _mapping(_mapping(self.root.get("components")).get("schemas"))
        return components or _mapping(self.root.get("definitions"))

    def schemas(self) -> Iterator[Schema]:
        for name, schema in islice(self.named.items(), MOST_SCHEMAS):
            schema = _mapping(schema)
            required = {one for one in _list(schema.get("required")) if isinstance(one, str)}
            properties, values = _mapping(schema.get("properties")), _list(schema.get("enum"))
            fields = tuple(
                Field(
                    self.text(key),
                    self.type_of(one),
                    required=key in required,
                    description=self.text(_mapping(one).get("description")),
                )
                for key, one in self.some(properties.items(), len(properties))
            )
            message = tuple(self.text(_shown(value)) for value in self.some(values, len(values)))
            yield Schema(_text(name), self.type_of(schema), self.text(schema.get("description")), fields, message)


def _group(operation: Json) -> str:
    """The first tag."""
    tags = (tag for tag in _list(operation.get("tags"))[:_MOST_CHOICES] if isinstance(tag, str) and tag)
    return _text(next(tags, UNGROUPED))


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else ""


def _shown(value: object) -> str:
    """A value of an enumeration; objects and lists are not written out."""
    return "…" if isinstance(value, (dict, list)) else str(value)
