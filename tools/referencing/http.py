"""The page of the HTTP API, from its OpenAPI document."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

from mooring.api.openapi import describe_api
from mooring.api.server import ApiParts, build_api
from referencing.text import sentence


def http_page() -> str:
    """Every route with its parameters and body."""
    return "\n".join(_http())


def _http() -> Iterator[str]:
    document = describe_api(build_api(MagicMock(spec=ApiParts)))
    yield "# HTTP API\n"
    yield "The same document as a running Mooring serves at `/openapi.json` and shows at `/docs`. Who may call a route"
    yield "is in [access](../how-to/access.md); error codes are in [the runbook](../runbook/errors.md)."
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            yield f"\n## `{method.upper()} {path}`\n"
            yield f"{sentence(described) or described['summary']}\n"
            yield from _parameters(described)
            yield from _body(described, document)
            good = sorted(status for status in described["responses"] if status != "default")
            yield f"Answers {', '.join(f'`{status}`' for status in good)}, or an error."


def _parameters(described: dict[str, Any]) -> Iterator[str]:
    for one in described.get("parameters", ()):
        needed = "required" if one.get("required") else "optional"
        text = sentence(one) or sentence(one.get("schema", {}))
        yield f"- `{one['name']}` ({one['in']}, {needed}){': ' + text if text else ''}"
    if described.get("parameters"):
        yield ""


def _body(described: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    content = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = content.get("$ref", "").rpartition("/")[2]
    schema = document["components"]["schemas"].get(name, content)
    if fields := schema.get("properties"):
        required = schema.get("required", ())
        shown = ", ".join(f"`{one}`" + ("" if one in required else "?") for one in fields)
        yield f"Body: {shown} (`?` marks optional fields).\n"
