"""Manifests that people write into forms."""

from typing import Any

import msgspec

from mooring.api.yaml_text import read_yaml
from mooring.model.errors import InvalidInput

DEFAULT_NAMESPACE = "default"


def parse_manifest(text: str, kind: str) -> dict[str, Any]:
    """One object in YAML or JSON, in time that is proportional to its length."""
    try:
        found = read_yaml(text, "manifest")
    except ValueError as error:
        raise InvalidInput("manifest", "this text", f"one object in YAML or JSON ({error})") from error
    if not isinstance(found, dict):
        raise InvalidInput("manifest", found, f"a {kind} in YAML or JSON")
    plain: dict[str, Any] = msgspec.to_builtins(found)  # YAML has dates, JSON has not
    return plain


def name_in(body: dict[str, Any], kind: str) -> tuple[str, str]:
    """Namespace and name of a manifest."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace") or DEFAULT_NAMESPACE
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise InvalidInput("metadata.name", name, f"the name of the {kind}")
    return namespace, name
