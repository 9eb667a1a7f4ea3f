"""Data on stdout in the chosen format: table, wide, json, yaml, ndjson or name. Plain text when not on a terminal."""

import json
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum

from mooring.cli.table import Column, Row, cell_text, print_table, printable, terminal_width

__all__ = [
    "Column",
    "Format",
    "Row",
    "clear_terminal",
    "describe_time",
    "print_line",
    "printable",
    "show_change",
    "show_list",
    "show_one",
    "show_table",
    "terminal_width",
]

API_VERSION = "mooring.dev/v1"


class Format(StrEnum):
    """Value of `-o`."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NDJSON = "ndjson"
    NAME = "name"


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
    """Print rows below their titles; `wide` shows all columns, whole texts, and times instead of ages."""
    from hawser.clock import SystemClock

    print_table(rows, columns, SystemClock().now(), wide=wide)


def describe_time(value: object, *, wide: bool = False) -> str:
    """A time as an age, as in tables; `wide` keeps the time."""
    from hawser.clock import SystemClock

    return cell_text(value, None if wide else SystemClock().now())


def print_line(text: str) -> None:
    """Print one line of text that others may have written."""
    print(printable(text))


def _dump(kind: str, content: Row, output: Format) -> None:
    whole = {"apiVersion": API_VERSION, "kind": kind, **content}
    if output is not Format.YAML:
        print(json.dumps(whole, indent=2 if output is Format.JSON else None))
        return
    import yaml

    print(yaml.safe_dump(whole, sort_keys=False), end="")
