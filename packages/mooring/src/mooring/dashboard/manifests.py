"""Manifests that people write into forms."""

from typing import Any

import msgspec
import yaml

from mooring.model.errors import InvalidInput

DEFAULT_NAMESPACE = "default"
DEEPEST = 64  # levels of a manifest; the pod template of a service has about 12
MOST_TOKENS = 20_000  # four of them are one `name: value`
LONGEST_NUMBER = 40  # characters; 64 bits have 20
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_RESOLVER: Any = yaml.resolver.Resolver()


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
    """Refuse what takes forever to parse: aliases, of which a few stand for a document of any size, depths, numbers.

    YAML has numbers of the base 60, whose cost grows with the square of their length.
    """
    depth = 0
    for count, token in enumerate(yaml.scan(text, _LOADER)):
        if count > MOST_TOKENS:
            raise InvalidInput("manifest", "this text", f"at most {MOST_TOKENS // 4} pairs of names and values")
        if isinstance(token, yaml.AliasToken):
            raise InvalidInput("manifest", "an alias (*name)", "written out: aliases are not read")
        if isinstance(token, yaml.TagToken) and token.value != ("!!", "str"):
            raise InvalidInput("manifest", "a tag (!!type)", "without tags but !!str")
        if isinstance(token, yaml.ScalarToken) and token.plain and _is_long_number(token.value):
            raise InvalidInput("manifest", f"a number of {len(token.value)} characters", f"at most {LONGEST_NUMBER}")
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > DEEPEST:
            raise InvalidInput("manifest", f"more than {DEEPEST} levels", f"at most {DEEPEST} levels deep")


def _is_long_number(text: str) -> bool:
    return len(text) > LONGEST_NUMBER and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) in _NUMBERS


def name_in(body: dict[str, Any], kind: str) -> tuple[str, str]:
    """Namespace and name of a manifest."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace") or DEFAULT_NAMESPACE
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise InvalidInput("metadata.name", name, f"the name of the {kind}")
    return namespace, name
