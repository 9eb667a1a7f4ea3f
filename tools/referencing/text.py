"""Markdown from descriptions."""

from collections.abc import Iterable
from typing import Any


def sentence(described: dict[str, Any]) -> str:
    """The description of a schema, on one line."""
    return one_line(str(described.get("description", "")))


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())


def row(*cells: object) -> str:
    """A row of a table; bars inside of cells are escaped."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table with its head."""
    names = list(heads)
    return "\n".join([row(*names), "|" + "---|" * len(names), *(row(*cells) for cells in rows)])
