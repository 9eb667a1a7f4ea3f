"""The page of the SDK's public names, with signatures and docstrings."""

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator
from enum import EnumMeta
from typing import Any

import msgspec

from mooring import client
from referencing.text import one_line, table


def sdk_page() -> str:
    """Every name that `mooring` exports."""
    return "\n".join(_names())


def _names() -> Iterator[str]:
    yield "# Names of the SDK\n"
    yield "Everything that `from mooring import …` offers. [The SDK](sdk.md) shows how the names are used."
    yield "`AsyncMooring` and `AsyncClaim` have the methods of `Mooring` and `Claim`, as coroutines."
    for name in client.__all__:
        found = getattr(client, name)
        yield f"\n## {name}\n"
        yield f"{one_line(inspect.getdoc(found) or '')}\n"
        yield from _members(found)


def _members(found: Any) -> Iterator[str]:
    if isinstance(found, EnumMeta):
        yield f"Values: {', '.join(f'`{one.value}`' for one in found)}."  # type: ignore[attr-defined]
        return
    if fields := _fields(found):
        yield table(("field", "type"), ((f"`{name}`", f"`{_type(kind)}`") for name, kind in fields))
        yield ""
    if not issubclass(found, msgspec.Struct):
        methods = [one for one in _public(found) if inspect.isfunction(one[1]) or isinstance(one[1], property)]
        for name, member in methods:
            shown = name if isinstance(member, property) else f"{name}{_signature(member)}"
            yield f"- `{shown}`: {one_line(inspect.getdoc(member) or '')}"


def _fields(found: Any) -> list[tuple[str, Any]]:
    if issubclass(found, msgspec.Struct):
        return [(one.name, one.type) for one in msgspec.structs.fields(found)]
    return [(one.name, one.type) for one in dataclasses.fields(found)] if dataclasses.is_dataclass(found) else []


def _public(found: type) -> list[tuple[str, Any]]:
    """The members that the class and its bases in this package define, in the order of the source."""
    bases = [base for base in reversed(found.__mro__) if base.__module__.startswith("mooring.client")]
    members = {name: value for base in bases for name, value in vars(base).items() if not name.startswith("_")}
    return list(members.items())


def _signature(function: Any) -> str:
    text = str(inspect.signature(function))
    text = re.sub(r"\(self(, )?", "(", text, count=1)
    if "**options" in text:  # the names of a TypedDict are keyword arguments of the caller
        options = typing.get_args(inspect.signature(function).parameters["options"].annotation)[0]
        text = re.sub(r"\*\*options: [^)]*?(?=\) ->)", ", ".join(f"{name}=…" for name in options.__annotations__), text)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])|~|datetime\.(?=timedelta)", "", text)


def _type(kind: Any) -> str:
    return re.sub(r"\b(?:[a-z_]+\.)+", "", kind.__name__ if inspect.isclass(kind) else str(kind))
