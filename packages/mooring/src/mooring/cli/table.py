"""Tables that fit the terminal: ages instead of times, no columns of zeros, long texts cut with an ellipsis."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Row = dict[str, Any]

GAP = "  "
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z")
_LEAST_TEXT = 20  # characters that a text keeps when it is cut
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: how to read it from a row, and whether only `wide` shows it.

    Where the terminal is too narrow, first only `beginning` characters of a value are shown, which identify it too;
    then a `text` is cut with an ellipsis; then `optional` columns are left out, the last one first; then the widest
    columns are cut, whatever they are.
    """

    title: str
    read: Callable[[Row], object]
    wide: bool = False
    style: Callable[[Row], str] | None = None
    text: bool = False
    optional: bool = False
    beginning: int = 0


@dataclass(slots=True)
class _Shown:
    """A column and its cells, the title first."""

    column: Column
    cells: list[str]

    @property
    def width(self) -> int:
        return max(map(len, self.cells))

    def cut(self, width: int, ellipsis: str = "…") -> None:
        width = max(width, len(self.column.title))
        self.cells = [cell if len(cell) <= width else cell[: width - len(ellipsis)] + ellipsis for cell in self.cells]


def print_table(rows: Sequence[Row], columns: Sequence[Column], now: datetime, *, wide: bool) -> None:
    """Print rows below their titles: with colours on a terminal, plain text elsewhere."""
    shown = _fit(
        rows, [column for column in columns if wide or not column.wide], terminal_width(wide), None if wide else now
    )
    lines = list(_lines(shown))
    if not sys.stdout.isatty():
        for line in lines:
            print(GAP.join(cell.ljust(column.width) for column, cell in line).rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for index, line in enumerate(lines):
        text = Text()
        for column, cell in line:
            style = "bold" if index == 0 else _style(column.column, rows[index - 1])
            text.append(cell, style).append(" " * (column.width - len(cell)) + GAP)
        text.rstrip()
        console.print(text, soft_wrap=True)


def describe_age(seconds: float) -> str:
    """`45s`, `12m`, `3h5m`, `2d4h`: at most two units, the second one only if the first is small."""
    left = max(0, int(seconds))
    for (unit, size), (smaller, small_size) in zip(_UNITS, (*_UNITS[1:], ("", 1)), strict=True):
        if left >= size:
            count, rest = divmod(left, size)
            tail = f"{rest // small_size}{smaller}" if smaller and count < 10 and rest >= small_size else ""
            return f"{count}{unit}{tail}"
    return "0s"


def printable(text: str) -> str:
    """The text on one line, without control characters that would steer the terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _style(column: Column, row: Row) -> str:
    return column.style(row) if column.style else ""


def terminal_width(wide: bool = False) -> int | None:
    """Columns of the terminal; None where a table may have any width: with `-o wide`, in a pipe and in a file."""
    given = os.environ.get("COLUMNS", "")
    if wide or not (sys.stdout.isatty() or given.isdecimal()):
        return None
    return shutil.get_terminal_size().columns or None


def _lines(shown: Sequence[_Shown]) -> list[list[tuple[_Shown, str]]]:
    height = len(shown[0].cells) if shown else 0
    return [[(column, column.cells[index]) for column in shown] for index in range(height)]


def _fit(rows: Sequence[Row], columns: Sequence[Column], width: int | None, now: datetime | None) -> list[_Shown]:
    shown = []
    for column in columns:
        values = [column.read(row) for row in rows]
        if now is not None and values and all(value == 0 and isinstance(value, int) for value in values):
            continue
        shown.append(_Shown(column, [column.title, *(cell_text(value, now) for value in values)]))
    if width is not None:
        _narrow(shown, width)
    return shown


def _narrow(shown: list[_Shown], width: int) -> None:
    """Step by step, until the columns fit or nothing more can be taken."""
    for column in shown:
        if column.column.beginning and _least(shown) > width:
            column.cut(column.column.beginning, ellipsis="")
    while _least(shown) > width and any(column.column.optional for column in shown):
        shown.remove(next(column for column in reversed(shown) if column.column.optional))
    texts = sorted((column for column in shown if column.column.text), key=lambda column: column.width)
    left = width - sum(column.width for column in shown if not column.column.text) - len(GAP) * (len(shown) - 1)
    for index, column in enumerate(texts):
        column.cut(max(left // (len(texts) - index), _LEAST_TEXT))
        left -= column.width
    while sum(column.width + len(GAP) for column in shown) - len(GAP) > width:
        widest = max(shown, key=lambda column: column.width)
        if widest.width <= len(widest.column.title):
            return
        widest.cut(widest.width - 1)


def _least(shown: Sequence[_Shown]) -> int:
    """The width of the table when its texts are cut as far as they are useful."""
    widths = [min(column.width, _LEAST_TEXT) if column.column.text else column.width for column in shown]
    return sum(widths) + len(GAP) * (len(widths) - 1)


def cell_text(value: object, now: datetime | None) -> str:
    """Times are ages when `now` is given; whole seconds otherwise."""
    if value is None or value == "":
        return "-"
    timestamp = _TIMESTAMP.fullmatch(str(value))
    if not timestamp:
        return printable(str(value))
    if now is None:
        return f"{timestamp[1]}Z"
    seconds = (now - datetime.fromisoformat(str(value))).total_seconds()
    return describe_age(seconds) if seconds > -1 else f"in {describe_age(-seconds)}"
