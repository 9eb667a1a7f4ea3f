"""Manifests that people write into forms."""

from typing import Any

import msgspec
import yaml

from mooring.model.errors import InvalidInput

DEFAULT_NAMESPACE = "default"
DEEPEST = 64  # levels of a manifest; the pod template of a service has about 12
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


def parse_manifest(text: str, kind: str) -> dict[str, Any]:
    """One object in YAML or JSON, in time that is proportional to its length."""
    try:
        _check_tokens(text)
        found = yaml.load(text, _LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInput("manifest", "this text", f"one object in YAML or JSON ({error})") from error
    if not isinstance(found, dict):
        raise InvalidInput("manifest", found, f"a {kind} in YAML or JSON")
    plain: dict[str, Any] = msgspec.to_builtins(found)  # YAML has dates, JSON has not
    return plain


def _check_tokens(text: str) -> None:
    """Refuse aliases, of which a few stand for a document of any size, and depths that take forever to parse."""
    depth = 0
    for token in yaml.scan(text, _LOADER):
        if isinstance(token, yaml.AliasToken):
            raise InvalidInput("manifest", "an alias (*name)", "written out: aliases are not read")
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > DEEPEST:
            raise InvalidInput("manifest", f"more than {DEEPEST} levels", f"at most {DEEPEST} levels deep")


def name_in(body: dict[str, Any], kind: str) -> tuple[str, str]:
    """Namespace and name of a manifest."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace") or DEFAULT_NAMESPACE
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise InvalidInput("metadata.name", name, f"the name of the {kind}")
    return namespace, name
