"""The OpenAPI document: the framework's, in the form that generators of clients read, with Mooring's own errors."""

from collections.abc import Sequence
from typing import Any

from litestar import Litestar
from litestar.handlers import BaseRouteHandler
from litestar.handlers.http_handlers.base import HTTPRouteHandler
from litestar.routes import BaseRoute
from litestar.types import Method

from mooring.api.access.acts import KEY, WORKER, Open

_FAILURE = {
    "description": "refused or failed; `code` is stable, `detail.fix` says what to do",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}},
}
_ERROR_BODY = {
    "type": "object",
    "title": "ErrorBody",
    "description": "Body of every answer that is not a success. Programs match on `code`; new codes may be added.",
    "required": ["code", "message", "detail"],
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "detail": {"type": "object", "additionalProperties": True},
    },
    "additionalProperties": False,
}
_SCHEMAS = "#/components/schemas/"
_NULL = {"type": "null"}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def name_operation(handler: HTTPRouteHandler, _method: Method, _path: Sequence[object]) -> str:
    """`operationId`: the name of the function, which is unique, in the case that generators expect."""
    first, *others = handler.handler_name.split("_")
    return first + "".join(word.capitalize() for word in others)


def describe_api(app: Litestar) -> dict[str, Any]:
    """The document of an application."""
    found: dict[str, Any] = app.openapi_schema.to_schema()
    names = {name: _schema_name(name) for name in found["components"].get("schemas", {})}
    document: dict[str, Any] = _simplify(found, {_SCHEMAS + old: _SCHEMAS + new for old, new in names.items()})
    schemas = document["components"].get("schemas", {})
    document["components"]["schemas"] = {names[name]: schema for name, schema in schemas.items()}
    document["components"]["schemas"]["ErrorBody"] = _ERROR_BODY
    open_paths = {route.path for route in app.routes for one in _handlers(route) if _is_open(one)}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("400", None)  # the framework's error format, which Mooring never sends
            operation["responses"]["default"] = _FAILURE
            if path in open_paths:
                operation["security"] = []
    return document


def _schema_name(name: str) -> str:
    """`Items_mooring.queries.fleet.PoolReading_`, which is no name in any language, is `PoolReadingItems`."""
    if name.startswith("Items_"):
        return f"{name.removesuffix('_').rpartition('.')[2]}Items"
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _simplify(node: Any, references: dict[str, str]) -> Any:
    """The same document: nullable values as a list of types, numbers with their width."""
    if isinstance(node, list):
        return [_simplify(item, references) for item in node]
    if not isinstance(node, dict):
        return node
    made = {name: _simplify(value, references) for name, value in node.items()}
    if isinstance(reference := made.get("$ref"), str):
        made["$ref"] = references.get(reference, reference)
    match made.get("oneOf"):
        case [{"type": str(kind)} as value, other] if other == _NULL:
            del made["oneOf"]
            made = {**value, **made, "type": [kind, "null"]}
    match made.get("type"):
        case "integer" | ["integer", "null"]:
            return {**made, "format": "int64", **_whole_bounds(made)}
        case "number" | ["number", "null"]:
            return {**made, "format": "double"}
    return made


def _whole_bounds(schema: dict[str, Any]) -> dict[str, int]:
    """A bound that the framework made a float of: 2**63 - 1 is then rounded up, out of the range of 64 bits."""
    bounds = {name: schema[name] for name in _BOUNDS if name in schema}
    return {name: min(int(bound), 2**63 - 1) for name, bound in bounds.items()}


def _is_open(handler: BaseRouteHandler) -> bool:
    rule = handler.opt.get(KEY)
    return isinstance(rule, Open) and rule is not WORKER  # workers need a token, too


def _handlers(route: BaseRoute) -> Sequence[BaseRouteHandler]:
    return getattr(route, "route_handlers", ())
