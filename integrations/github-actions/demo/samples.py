"""Bodies that fit GitHub's published schemas: every required field, with the smallest value that is allowed."""

import json
from functools import cache
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parent / "schemas"
_TEXTS = {
    "uri": "https://github.example/x",
    "date-time": "2026-03-01T12:00:00Z",
    "email": "octo@github.example",
    "uri-template": "https://github.example/x{/y}",
}


@cache
def load(name: str) -> dict[str, Any]:
    """`rest` or `webhooks`."""
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text())
    return found


def make_sample(source: str, schema: dict[str, Any], **fields: Any) -> Any:
    """A body for the schema; `fields` replace what was made up."""
    made = _sample(load(source)["definitions"], schema)
    return {**made, **fields} if fields else made


def _sample(definitions: dict[str, Any], schema: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _sample(definitions, definitions[schema["$ref"].rpartition("/")[2]])
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return _sample(definitions, schema[word][0])
    if "allOf" in schema:
        return _merge([_sample(definitions, part) for part in schema["allOf"]])
    kinds = schema.get("type", "object")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        properties = schema.get("properties", {})
        return {
            name: _sample(definitions, properties[name]) for name in schema.get("required", ()) if name in properties
        }
    if kind == "array":
        return [_sample(definitions, schema["items"]) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return _TEXTS.get(schema.get("format", ""), "x" * max(1, schema.get("minLength", 1)))
    return {"integer": 1, "number": 1, "boolean": False, "null": None}[kind]


def _merge(parts: list[Any]) -> Any:
    merged: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            both = isinstance(merged.get(name), dict) and isinstance(value, dict)
            merged[name] = _merge([merged[name], value]) if both else value
    return merged
