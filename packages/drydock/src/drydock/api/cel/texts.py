"""CEL's functions on text."""

from itertools import islice
from typing import Any

from drydock.api.cel.functions import FUNCTIONS
from drydock.api.cel.operators import to_text
from drydock.api.cel.values import CelError
from drydock.api.schema.patterns import Pattern, PatternError, compile_pattern

define = FUNCTIONS.define


@define("string.startsWith(string) -> bool")
def _starts_with(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


@define("string.endsWith(string) -> bool")
def _ends_with(text: str, suffix: str) -> bool:
    return text.endswith(suffix)


@define("string.contains(string) -> bool")
def _contains(text: str, part: str) -> bool:
    return part in text


@define("string.matches(string) -> bool", "matches(string, string) -> bool")
def _matches(text: str, pattern: str) -> bool:
    return _compiled(pattern).search(text) is not None


@define("string.find(string) -> string")
def _find(text: str, pattern: str) -> str:
    return _compiled(pattern).search(text) or ""


@define("string.findAll(string) -> list(string)", "string.findAll(string, int) -> list(string)")
def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = _compiled(pattern).find_all(text)
    return list(found) if limit < 0 else list(islice(found, limit))


def _compiled(pattern: str) -> Pattern:
    try:
        return compile_pattern(pattern)
    except PatternError as problem:
        raise CelError(str(problem)) from problem


@define("string.lowerAscii() -> string")
def _lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


@define("string.upperAscii() -> string")
def _upper(text: str) -> str:
    return "".join(letter.upper() if letter.isascii() else letter for letter in text)


@define("string.trim() -> string")
def _trim(text: str) -> str:
    return text.strip()


@define("string.charAt(int) -> string")
def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


@define("string.substring(int) -> string", "string.substring(int, int) -> string")
def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


@define("string.indexOf(string) -> int", "string.indexOf(string, int) -> int")
def _index_of(text: str, part: str, start: int = 0) -> int:
    return text.find(part, start)


@define("string.lastIndexOf(string) -> int", "string.lastIndexOf(string, int) -> int")
def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    return text.rfind(part) if last is None else text.rfind(part, 0, last + len(part))


@define("string.replace(string, string) -> string", "string.replace(string, string, int) -> string")
def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


@define("string.split(string) -> list(string)", "string.split(string, int) -> list(string)")
def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text) if limit < 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


@define("list.join() -> string", "list.join(string) -> string")
def _join(parts: list[Any], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise CelError("no such overload")
    return separator.join(parts)


@define("string.format(list) -> string")
def _format(template: str, values: list[Any]) -> str:
    pieces, rest, left = [], template, list(values)
    while "%" in rest:
        before, _, rest = rest.partition("%")
        pieces.append(before)
        if rest[:1] == "%":
            pieces.append("%")
        elif rest[:1] in ("s", "d") and left:
            pieces.append(to_text(left.pop(0)))
        else:
            raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{rest[:1]}"')
        rest = rest[1:]
    return "".join([*pieces, rest])
