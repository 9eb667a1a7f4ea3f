"""The OpenAPI document: the framework's, with corrected error responses and routes without authentication."""

from collections.abc import Sequence
from typing import Any

from litestar import Litestar
from litestar.handlers import BaseRouteHandler
from litestar.routes import BaseRoute

from mooring.api.access.acts import KEY, WORKER, Open

_FAILURE = {
    "description": "refused or failed; `code` is stable, `detail.fix` says what to do",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}},
}
_ERROR_BODY = {
    "type": "object",
    "required": ["code", "message", "detail"],
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "detail": {"type": "object"}},
    "additionalProperties": False,
}


def describe_api(app: Litestar) -> dict[str, Any]:
    """The document of an application."""
    document: dict[str, Any] = app.openapi_schema.to_schema()
    document["components"].setdefault("schemas", {})["ErrorBody"] = _ERROR_BODY
    open_paths = {route.path for route in app.routes for one in _handlers(route) if _is_open(one)}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("400", None)  # the framework's error format, which Mooring never sends
            operation["responses"]["default"] = _FAILURE
            if path in open_paths:
                operation["security"] = []
    return document


def _is_open(handler: BaseRouteHandler) -> bool:
    rule = handler.opt.get(KEY)
    return isinstance(rule, Open) and rule is not WORKER  # workers need a token, too


def _handlers(route: BaseRoute) -> Sequence[BaseRouteHandler]:
    return getattr(route, "route_handlers", ())
