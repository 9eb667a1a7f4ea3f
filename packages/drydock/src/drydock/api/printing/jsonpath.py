"""The JSONPath of printer columns and scale paths: fields, quoted fields, indices, `[*]` and `[?(@.x=="y")]`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

_STEP = re.compile(
    r"""
      (?P<all>\[\s*\*\s*\]|\.\*)
    | \.(?P<field>(?:\\.|[^.\[\]\\])+)
    | \[\s*(?P<quoted>'(?:\\.|[^'])*'|"(?:\\.|[^"])*")\s*\]
    | \[\s*(?P<index>-?\d+)\s*\]
    | \[\?\(\s*@(?P<path>[^=!<>\s]*)\s*(?:(?P<relation>==|!=)\s*(?P<literal>[^)]*?)\s*)?\)\]
    """,
    re.VERBOSE,
)


class JsonPathError(ValueError):
    """A path this server cannot follow."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str

    def follow(self, value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and self.name in value:
            yield value[self.name]


@dataclass(frozen=True, slots=True)
class _Item:
    index: int

    def follow(self, value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= self.index < len(value):
            yield value[self.index]


@dataclass(frozen=True, slots=True)
class _All:
    def follow(self, value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()


@dataclass(frozen=True, slots=True)
class _Filter:
    path: "JsonPath"
    relation: str
    literal: Any

    def follow(self, value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else []:
            found = list(self.path.find(item))
            holds = bool(found) if not self.relation else (self.literal in found) == (self.relation == "==")
            if holds and found:
                yield item


_Step = _Field | _Item | _All | _Filter


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path that was read once and can be followed often."""

    steps: tuple[_Step, ...]

    def find(self, value: Any) -> list[Any]:
        """Everything the path leads to."""
        found = [value]
        for step in self.steps:
            found = [result for item in found for result in step.follow(item)]
        return found


@lru_cache(maxsize=512)
def parse_path(text: str) -> JsonPath:
    """The path written as `.spec.replicas`, `{.spec.replicas}` or `.spec['replicas']`."""
    path = text.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1]
    path = path.removeprefix("$")
    if path and path[0] not in ".[":
        path = f".{path}"
    steps: list[_Step] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise JsonPathError(f"{text!r} is not a path this server can follow")
        steps.append(_step(found))
        position = found.end()
    return JsonPath(tuple(steps))


def _step(found: re.Match[str]) -> _Step:
    match found.lastgroup:
        case "field":
            return _Field(re.sub(r"\\(.)", r"\1", found["field"]))
        case "quoted":
            return _Field(re.sub(r"\\(.)", r"\1", found["quoted"][1:-1]))
        case "index":
            return _Item(int(found["index"]))
        case "all":
            return _All()
        case _:
            return _Filter(parse_path(found["path"]), found["relation"] or "", _literal(found["literal"] or ""))


def _literal(text: str) -> Any:
    if text[:1] in ("'", '"'):
        return text[1:-1]
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
