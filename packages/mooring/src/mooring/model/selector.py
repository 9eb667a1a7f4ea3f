"""A label selector as text, such as `app=db-warmup,db=core_nt` or `app in (setup,finalizer)`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mooring.model.errors import InvalidInput

_LONGEST = 1024
_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = rf"(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}"
_VALUE = re.compile(rf"(?:{_NAME})?")
_REQUIREMENT = re.compile(
    rf"""\s*(?:
        !\s*(?P<absent>{_KEY})
      | (?P<key>{_KEY}) (?: \s*(?P<sign>==|=|!=)\s*(?P<value>[^\s,()=!]*)
                          | \s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\) )?
    )\s*(?:,(?=.)|$)""",
    re.VERBOSE | re.DOTALL,
)
_EXPECTED = "a label selector such as app=db-warmup,db=core_nt or app in (setup,finalizer)"


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One requirement: the label has one of the values, or any value if `values` is None; or not."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def holds(self, labels: Mapping[str, str]) -> bool:
        found = labels.get(self.key)
        present = found is not None and (self.values is None or found in self.values)
        return present is not self.negated


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements have to hold."""

    text: str
    requirements: tuple[LabelRequirement, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds(labels) for requirement in self.requirements)


def parse_selector(field: str, text: str) -> Selector:
    """Read a selector. It must require a label: an empty one, or one that only excludes, selects almost everything."""
    text = text.strip()
    requirements: list[LabelRequirement] = []
    position = 0
    while position < len(text) <= _LONGEST:
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise InvalidInput(field, text, _EXPECTED)
        requirements.append(_requirement(field, text, found))
        position = found.end()
    if all(requirement.negated for requirement in requirements):
        raise InvalidInput(field, text, f"{_EXPECTED}, with at least one label that is required")
    return Selector(text, tuple(requirements))


def _requirement(field: str, text: str, found: re.Match[str]) -> LabelRequirement:
    if found["absent"]:
        return LabelRequirement(found["absent"], None, negated=True)
    if found["word"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
    elif found["sign"]:
        values = frozenset((found["value"],))
    else:
        return LabelRequirement(found["key"], None)
    if not all(_VALUE.fullmatch(value) for value in values):
        raise InvalidInput(field, text, _EXPECTED)
    return LabelRequirement(found["key"], values, found["word"] == "notin" or found["sign"] == "!=")
