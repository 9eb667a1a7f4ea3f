"""The functions of CEL, each under the signatures that the checker and the evaluator match.

A signature reads `receiver.name(arguments) -> result`; types without a receiver are functions and operators.
`list` and `map` take any elements, `T` in a result is the element type of the first list, `dyn` is anything.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from drydock.api.cel.values import CelError, type_name

_SIGNATURE = re.compile(r"(?:(?P<receiver>[\w()]+)\.)?(?P<name>[^\s(]+)\((?P<arguments>[^)]*)\) -> (?P<result>.+)")

NAMESPACES = frozenset({"sets", "optional"})  # `sets.contains(a, b)` is a function, not a method of `sets`


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. The receiver, if any, is the first of `parameters`."""

    name: str
    is_method: bool
    parameters: tuple[str, ...]
    result: str
    run: Callable[..., Any]

    def takes(self, types: Sequence[str]) -> bool:
        """Could it be called with values of these types?"""
        return len(types) == len(self.parameters) and all(
            wanted == "dyn" or given == "dyn" or wanted == given
            for wanted, given in zip(self.parameters, types, strict=True)
        )


class FunctionTable:
    """All overloads by name; methods and plain functions are kept apart."""

    def __init__(self) -> None:
        self._overloads: dict[tuple[str, bool], list[Overload]] = {}

    def define(self, *signatures: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function under its signatures."""

        def register(run: Callable[..., Any]) -> Callable[..., Any]:
            for signature in signatures:
                overload = _read(signature, run)
                self._overloads.setdefault((overload.name, overload.is_method), []).append(overload)
            return run

        return register

    def find(self, name: str, is_method: bool) -> list[Overload]:
        return self._overloads.get((name, is_method), [])

    def call(self, name: str, is_method: bool, values: Sequence[Any]) -> Any:
        """Call what fits the values."""
        types = [type_name(value) for value in values]
        for overload in self.find(name, is_method):
            if overload.takes(types):
                return overload.run(*values)
        raise CelError("no such overload")


def _read(signature: str, run: Callable[..., Any]) -> Overload:
    found = _SIGNATURE.fullmatch(signature)
    if found is None:
        raise ValueError(f"not a signature: {signature}")
    arguments = tuple(part.strip() for part in found["arguments"].split(",") if part.strip())
    owner = found["receiver"]
    if owner is None or owner in NAMESPACES:
        name = f"{owner}.{found['name']}" if owner else found["name"]
        return Overload(name, False, arguments, found["result"], run)
    return Overload(found["name"], True, (owner, *arguments), found["result"], run)


FUNCTIONS = FunctionTable()
