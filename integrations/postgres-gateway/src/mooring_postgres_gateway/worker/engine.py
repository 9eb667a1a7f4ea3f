"""DuckDB for one session: statements in, columns and rows out. Blocking; runs in the session's thread."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from mooring_postgres_gateway.failures import CANCELLED, FEATURE_NOT_SUPPORTED, INTERNAL, SessionError
from mooring_postgres_gateway.settings import VERSION
from mooring_postgres_gateway.sql import Statement
from mooring_postgres_gateway.wire.bodies import Column
from mooring_postgres_gateway.worker.values import oid_of, size_of

_PRELUDE = f"""
SET TimeZone = 'UTC';
CREATE MACRO pg_advisory_unlock_all() AS NULL;
CREATE MACRO version() AS '{VERSION}';
CREATE TYPE regtype AS VARCHAR;
CREATE MACRO to_regtype(name) AS NULL;
"""  # what drivers ask for when they connect; DuckDB has none of the types that they look for
_ROWS = frozenset({"SELECT", "EXPLAIN", "PRAGMA", "CALL", "RELATION", "LOGICAL_PLAN"})
_CHANGES = {
    "INSERT": "INSERT 0 {}",
    "UPDATE": "UPDATE {}",
    "DELETE": "DELETE {}",
    "MERGE_INTO": "MERGE {}",
    "COPY": "COPY {}",
}
_BACK_TO_SAVEPOINT = re.compile(r"\s*(?:ROLLBACK|ABORT)\b[\w\s]*?\bTO\b", re.IGNORECASE)
_RETURNING = re.compile(r"\bRETURNING\b(?P<list>(?:(?!\bRETURNING\b).)+)$", re.IGNORECASE | re.DOTALL)
_CHANGED_TABLE = re.compile(
    r"^\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+(?P<table>(?:\"[^\"]+\"|[\w.])+)", re.IGNORECASE
)

_STATES: tuple[tuple[str, str, str], ...] = (
    ("ParserException", "", "42601"),
    ("SyntaxException", "", "42601"),
    ("CatalogException", "already exists", "42P07"),
    ("CatalogException", "Function with name", "42883"),
    ("CatalogException", "", "42P01"),
    ("BinderException", "column", "42703"),
    ("BinderException", "", "42804"),
    ("ConversionException", "", "22P02"),
    ("ConstraintException", "NOT NULL", "23502"),
    ("ConstraintException", "foreign key", "23503"),
    ("ConstraintException", "CHECK", "23514"),
    ("ConstraintException", "", "23505"),
    ("OutOfMemoryException", "", "53200"),
    ("OutOfRangeException", "", "22003"),
    ("InvalidInputException", "", "22023"),
    ("TransactionException", "onflict", "40001"),
    ("TransactionException", "", "25000"),
    ("PermissionException", "", "42501"),
    ("NotImplementedException", "", "0A000"),
    ("DependencyException", "", "2BP01"),
    ("TypeMismatchException", "", "42804"),
    ("IOException", "", "58030"),
    ("HTTPException", "", "58030"),
    ("InterruptException", "", CANCELLED),
)


def classify_error(error: duckdb.Error) -> SessionError:
    """DuckDB's error with its SQLSTATE."""
    name, text = type(error).__name__, str(error)
    if name == "InterruptException":
        return SessionError(CANCELLED, "canceling statement due to user request")
    state = next((state for kind, piece, state in _STATES if kind == name and piece in text), INTERNAL)
    return SessionError(state, text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement gave: columns if it returns rows, else the tag of its completion."""

    columns: tuple[Column, ...] | None
    tag: str


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Limits of a session's database, and SQL that each session begins with."""

    threads: int = 1
    memory: str = "512MB"
    prelude: str = ""


class Engine:
    """One database in memory, for one session."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._connection = self._open()

    def _open(self) -> duckdb.DuckDBPyConnection:
        config: dict[str, str | bool | int | float | list[str]] = {
            "threads": self._options.threads,
            "memory_limit": self._options.memory,
        }
        connection = duckdb.connect(config=config)
        connection.execute(_PRELUDE)
        if self._options.prelude:
            connection.execute(self._options.prelude)
        return connection

    def reset(self) -> None:
        """As a new session: nothing of the old one is left."""
        self._connection.close()
        self._connection = self._open()

    def run(self, statement: Statement, parameters: Sequence[Any] | None = None) -> Outcome:
        """Begin a statement; `fetch` returns its rows."""
        kind = self._kind(statement.text)
        self._connection.execute(statement.text, list(parameters) if parameters else None)
        returns = kind in _ROWS or (kind in _CHANGES and _returns(statement))
        if returns:
            described = self._connection.description or ()
            return Outcome(tuple(_column(item[0], str(item[1])) for item in described), "SELECT")
        return Outcome(None, self._tag(kind, statement))

    def tag_of_rows(self, statement: Statement, count: int) -> str:
        """The tag of a statement that returned so many rows."""
        return _CHANGES.get(self._kind(statement.text), "SELECT {}").format(count)

    def fetch(self, count: int) -> list[tuple[Any, ...]]:
        """The next rows; fewer than asked for at the end."""
        return self._connection.fetchmany(count)

    def describe(self, statement: Statement, parameters: Sequence[Any]) -> tuple[Column, ...] | None:
        """The columns that a statement would return, without running it."""
        text, kind = statement.text, self._kind(statement.text)
        if kind in _CHANGES:
            returning, table = _RETURNING.search(text), _CHANGED_TABLE.search(text)
            if not _returns(statement) or returning is None or table is None:
                return None
            text, parameters = f"SELECT {returning['list']} FROM {table['table']}", ()
        elif kind == "EXPLAIN":
            return (_column("explain_key", "VARCHAR"), _column("explain_value", "VARCHAR"))
        elif kind not in _ROWS:
            return None
        found = self._connection.execute(f"DESCRIBE {text}", list(parameters) or None).fetchall()
        return tuple(_column(str(row[0]), str(row[1])) for row in found)

    def columns_of(self, table: str, names: str) -> list[tuple[str, str]]:
        """Names and types of the columns that a COPY fills."""
        found = self._connection.execute(f"DESCRIBE SELECT {names or '*'} FROM {table}").fetchall()
        return [(str(row[0]), str(row[1])) for row in found]

    def execute(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        """Run SQL of our own."""
        self._connection.execute(sql, list(parameters) if parameters else None)

    def interrupt(self) -> None:
        """Stop what runs now. May be called from any thread."""
        self._connection.interrupt()

    def close(self) -> None:
        """Drop the database."""
        self._connection.close()

    def _kind(self, text: str) -> str:
        if _BACK_TO_SAVEPOINT.match(text):
            hint = "roll back the whole transaction"
            raise SessionError(FEATURE_NOT_SUPPORTED, "DuckDB has no savepoints to roll back to", hint=hint)
        found = self._connection.extract_statements(text)
        if len(found) != 1:
            raise SessionError("42601", f"{len(found)} statements where one is expected")
        return str(found[0].type.name)

    def _tag(self, kind: str, statement: Statement) -> str:
        rows = self._connection.fetchall()
        changed = rows[0][0] if rows and isinstance(rows[0][0], int) else 0
        if kind in _CHANGES:
            return _CHANGES[kind].format(changed)
        words = [word.text for word in statement.words[:2]]
        return " ".join(words) if kind in ("CREATE", "DROP", "ALTER") else words[0] if words else kind


def _returns(statement: Statement) -> bool:
    return "RETURNING" in statement.top()


def _column(name: str, kind: str) -> Column:
    oid = oid_of(kind)
    return Column(name, oid, size_of(oid))
