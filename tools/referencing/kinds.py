"""A page for each kind, with every field."""

from collections.abc import Iterator
from typing import Any

from mooring.kinds import load_crds
from referencing.text import row, sentence


def kind_pages() -> dict[str, str]:
    """The text of each page by its name."""
    return {f"{crd['spec']['names']['singular']}.md": "\n".join(_kind(crd)) for crd in load_crds()}


def _kind(crd: dict[str, Any]) -> Iterator[str]:
    names, version = crd["spec"]["names"], crd["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    yield f"# {names['kind']}\n"
    short = ", ".join(f"`{one}`" for one in names.get("shortNames", ()))
    yield f"{sentence(schema)}\n"
    yield f"`apiVersion: {crd['spec']['group']}/{version['name']}`, plural `{names['plural']}`, short {short}."
    yield f"`kubectl explain {names['singular']}.spec --recursive` shows the same fields."
    for part in ("spec", "status"):
        inner = schema["properties"][part]
        yield f"\n## {part}\n\n{sentence(inner)}\n\n| field | type | default | meaning |\n|---|---|---|---|"
        yield from _fields(inner, part)


def _fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        default = f"`{_shown(field['default'])}`" if "default" in field else "required" if name in required else ""
        yield row(f"`{here}`", _type(field), default, sentence(field))
        yield from _inside(field, here)


def _inside(field: dict[str, Any], path: str) -> Iterator[str]:
    yield from _fields(field, path)
    if "items" in field:
        yield from _inside(field["items"], f"{path}[]")
    if isinstance(field.get("additionalProperties"), dict):
        yield from _inside(field["additionalProperties"], f"{path}.*")


def _type(field: dict[str, Any]) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    if isinstance(field.get("additionalProperties"), dict):
        return f"map of {_type(field['additionalProperties'])}"
    return str(field.get("type", "any"))


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
