"""Data to stdout in the format asked for: table, wide, json, yaml, ndjson or name. Plain when not a terminal."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

API_VERSION = "mooring.dev/v1"
Row = dict[str, Any]

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z")  # in a table to the second


class Format(StrEnum):
    """`-o`."""

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


def show(kind: str, rows: Sequence[Row], columns: Sequence[Column], form: Format, name: Callable[[Row], str]) -> None:
    """Print a list."""
    match form:
        case Format.JSON | Format.YAML:
            _dump(kind, {"items": list(rows)}, form)
        case Format.NDJSON:
            for row in rows:
                print(json.dumps(row))
        case Format.NAME:
            for row in rows:
                print(name(row))
        case _:
            show_table(rows, columns, wide=form is Format.WIDE)


def show_one(kind: str, found: Row, form: Format, name: str, tell: Callable[[], None]) -> None:
    """Print one thing: whole as data, by its name, or in the words of `tell`."""
    match form:
        case Format.TABLE | Format.WIDE:
            tell()
        case Format.NAME:
            print(printable(name))
        case _:
            _dump(kind, found, form)


def _dump(kind: str, content: Row, form: Format) -> None:
    whole = {"apiVersion": API_VERSION, "kind": kind, **content}
    if form is not Format.YAML:
        print(json.dumps(whole, indent=2 if form is Format.JSON else None))
        return
    import yaml

    print(yaml.safe_dump(whole, sort_keys=False), end="")


def show_table(rows: Sequence[Row], columns: Sequence[Column], *, wide: bool = False) -> None:
    """Rows under their titles: in colours on a terminal, plain elsewhere."""
    columns = [column for column in columns if wide or not column.wide]
    if not sys.stdout.isatty():
        _plain_table(rows, columns)
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
            cells.append(Text(_text(column.read(row)), style=style))
        table.add_row(*cells)
    Console().print(table)


def _plain_table(rows: Sequence[Row], columns: Sequence[Column]) -> None:
    lines = [[column.title for column in columns]]
    lines += [[_text(column.read(row)) for column in columns] for row in rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _text(value: object) -> str:
    if value is None or value == "":
        return "-"
    moment = _MOMENT.fullmatch(str(value))
    return f"{moment[1]}Z" if moment else printable(str(value))


def printable(text: str) -> str:
    """Hostile text stays on its line and cannot steer the terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
