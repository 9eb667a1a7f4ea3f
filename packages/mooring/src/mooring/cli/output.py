"""Data on stdout in the chosen format: table, wide, json, yaml, ndjson or name. Plain text when not on a terminal."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

API_VERSION = "mooring.dev/v1"
Row = dict[str, Any]

_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z")  # tables show whole seconds


class Format(StrEnum):
    """Value of `-o`."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NDJSON = "ndjson"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: how to read it from a row, and whether only `wide` shows it."""

    title: str
    read: Callable[[Row], object]
    wide: bool = False
    style: Callable[[Row], str] | None = None


def show_list(
    kind: str, rows: Sequence[Row], columns: Sequence[Column], output: Format, name: Callable[[Row], str]
) -> None:
    """Print a list."""
    match output:
        case Format.JSON | Format.YAML:
            _dump(kind, {"items": list(rows)}, output)
        case Format.NDJSON:
            for row in rows:
                print(json.dumps(row))
        case Format.NAME:
            for row in rows:
                print(name(row))
        case _:
            show_table(rows, columns, wide=output is Format.WIDE)


def show_one(kind: str, found: Row, output: Format, name: str, print_text: Callable[[], None]) -> None:
    """Print one object: as data, as its name, or as text by `print_text`."""
    match output:
        case Format.TABLE | Format.WIDE:
            print_text()
        case Format.NAME:
            print(printable(name))
        case _:
            _dump(kind, found, output)


def show_change(change: str, found: Row) -> None:
    """Print one line of `-o ndjson --watch`."""
    print(json.dumps({"type": change, "object": found}), flush=True)


def clear_terminal() -> None:
    """Start at the top of an empty screen; nothing when stdout is not a terminal."""
    if sys.stdout.isatty():
        print("\x1b[H\x1b[2J", end="")


def show_table(rows: Sequence[Row], columns: Sequence[Column], *, wide: bool = False) -> None:
    """Print rows below their titles: with colours on a terminal, plain text elsewhere."""
    columns = [column for column in columns if wide or not column.wide]
    if not sys.stdout.isatty():
        _print_plain_table(rows, columns)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column.title, overflow="fold")
    for row in rows:
        cells = []
        for column in columns:
            style = column.style(row) if column.style else ""
            cells.append(Text(_cell(column.read(row)), style=style))
        table.add_row(*cells)
    Console().print(table)


def print_line(text: str) -> None:
    """Print one line of text that others may have written."""
    print(printable(text))


def printable(text: str) -> str:
    """The text on one line, without control characters that would steer the terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _dump(kind: str, content: Row, output: Format) -> None:
    whole = {"apiVersion": API_VERSION, "kind": kind, **content}
    if output is not Format.YAML:
        print(json.dumps(whole, indent=2 if output is Format.JSON else None))
        return
    import yaml

    print(yaml.safe_dump(whole, sort_keys=False), end="")


def _print_plain_table(rows: Sequence[Row], columns: Sequence[Column]) -> None:
    lines = [[column.title for column in columns]]
    lines += [[_cell(column.read(row)) for column in columns] for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    timestamp = _TIMESTAMP.fullmatch(str(value))
    return f"{timestamp[1]}Z" if timestamp else printable(str(value))
