"""The OpenAPI document: the framework's, with corrected error responses and routes without authentication."""

from typing import Any

from litestar import Litestar

from mooring.api.auth import OPEN

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
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("400", None)  # the framework's error format, which Mooring never sends
            operation["responses"]["default"] = _FAILURE
            if path in OPEN:
                operation["security"] = []
    return document
