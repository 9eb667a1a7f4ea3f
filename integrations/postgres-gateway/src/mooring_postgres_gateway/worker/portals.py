"""Prepared statements and portals of a session. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mooring_postgres_gateway.failures import SessionError
from mooring_postgres_gateway.sql import Statement, casts_of_parameters, split_statements
from mooring_postgres_gateway.wire.bodies import Bind, Column, Parse
from mooring_postgres_gateway.worker.arrays import decode_parameter, parameter_oid
from mooring_postgres_gateway.worker.engine import Outcome
from mooring_postgres_gateway.worker.values import TEXT

_MOST_PARAMETERS = 65_535


@dataclass(slots=True)
class Preparation:
    """A prepared statement; None for an empty one. `columns` are those that were sent to the client."""

    statement: Statement | None
    types: tuple[int, ...] = ()
    columns: tuple[Column, ...] | None = None


@dataclass(slots=True)
class Portal:
    """A statement with its parameters, and how far it has run."""

    preparation: Preparation
    parameters: tuple[Any, ...] = ()
    formats: tuple[int, ...] = ()
    columns: tuple[Column, ...] | None = None
    started: bool = False
    ended: bool = False
    sent: int = 0
    tag: str = ""
    given: list[list[tuple[Any, ...]]] = field(default_factory=list)

    def take(self, outcome: Outcome) -> None:
        """What the database answered. Types that were sent to the client are kept."""
        self.tag = outcome.tag
        told = self.preparation.columns
        columns = told if told and outcome.columns and len(told) == len(outcome.columns) else outcome.columns
        self.columns = self.shaped(columns)

    def give(self, columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> None:
        """Rows that do not come from the database."""
        self.columns, self.given = self.shaped(columns), [rows]

    def shaped(self, columns: Sequence[Column] | None) -> tuple[Column, ...] | None:
        """The columns in the formats that the client asked for."""
        if columns is None:
            return None
        count = len(columns)
        formats = self.formats * count if len(self.formats) == 1 else self.formats or (0,) * count
        if len(formats) != count:
            raise SessionError("08P01", f"{len(formats)} formats for {count} columns")
        return tuple(replace(column, format=form) for column, form in zip(columns, formats, strict=True))


def prepare(parse: Parse) -> Preparation:
    """The types of parameters are those of the client, else those that the statement casts them to, else text."""
    statements = split_statements(parse.sql)
    if len(statements) > 1:
        raise SessionError("42601", "cannot insert multiple commands into a prepared statement")
    if not statements:
        return Preparation(None)
    casts = casts_of_parameters(parse.sql)
    count = max((*parameter_numbers(parse.sql), len(parse.types)), default=0)
    if count > _MOST_PARAMETERS:
        raise SessionError("54023", f"a statement has at most {_MOST_PARAMETERS} parameters")
    types = []
    for number in range(1, count + 1):
        given = parse.types[number - 1] if number <= len(parse.types) else 0
        types.append(given or (parameter_oid(casts[number]) if number in casts else TEXT))
    return Preparation(statements[0], tuple(types))


def parameter_numbers(sql: str) -> list[int]:
    """Of `$1`, `$2`, ... outside of quotes and comments."""
    return sorted({number for statement in split_statements(sql) for number in statement.parameters})


def bind_portal(preparation: Preparation, bind: Bind) -> Portal:
    """With the client's parameters."""
    count = len(preparation.types)
    if len(bind.values) != count:
        raise SessionError("08P01", f"{len(bind.values)} parameters are given, {count} are expected")
    formats = bind.formats * count if len(bind.formats) == 1 else bind.formats or (0,) * count
    if len(formats) != count:
        raise SessionError("08P01", f"{len(formats)} formats for {count} parameters")
    try:
        values = tuple(map(decode_parameter, bind.values, preparation.types, formats))
    except ValueError as error:
        raise SessionError("22P03", str(error)) from error
    return Portal(preparation, values, bind.result_formats)
