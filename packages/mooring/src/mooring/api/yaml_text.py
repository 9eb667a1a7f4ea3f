"""YAML from outside, parsed in time that is proportional to its length: the event loop waits for it."""

from typing import Any

import yaml

from mooring.model.errors import InvalidInput

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


def read_yaml(text: str, what: str, most_tokens: int = MOST_TOKENS) -> Any:
    """The content. `InvalidInput` names `what` if it is too costly; `ValueError` if it is not YAML."""
    try:
        _check_tokens(text, what, most_tokens)
        return yaml.load(text, _LOADER)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _check_tokens(text: str, what: str, most_tokens: int) -> None:
    """Refuse what takes forever to parse: aliases, of which a few stand for a document of any size, depths, numbers.

    YAML has numbers of the base 60, whose cost grows with the square of their length.
    """
    depth = 0
    for count, token in enumerate(yaml.scan(text, _LOADER)):
        if count > most_tokens:
            raise InvalidInput(what, "this text", f"at most {most_tokens // 4} pairs of names and values")
        if isinstance(token, yaml.AliasToken):
            raise InvalidInput(what, "an alias (*name)", "written out: aliases are not read")
        if isinstance(token, yaml.TagToken) and token.value != ("!!", "str"):
            raise InvalidInput(what, "a tag (!!type)", "without tags but !!str")
        if isinstance(token, yaml.ScalarToken) and token.plain and _is_long_number(token.value):
            raise InvalidInput(what, f"a number of {len(token.value)} characters", f"at most {LONGEST_NUMBER}")
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > DEEPEST:
            raise InvalidInput(what, f"more than {DEEPEST} levels", f"at most {DEEPEST} levels deep")


def _is_long_number(text: str) -> bool:
    return len(text) > LONGEST_NUMBER and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) in _NUMBERS
