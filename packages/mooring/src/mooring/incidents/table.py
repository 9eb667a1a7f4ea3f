"""The closing table of a replay, for the terminal and for the documentation."""

import re
from dataclasses import dataclass

from mooring.incidents.incident import Figure
from mooring.incidents.replay import Outcome


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of both halves, as text."""

    figure: str
    without: str
    protected: str


def compute_rows(outcome: Outcome) -> list[FigureRow]:
    """One row for each figure that either half measured."""
    without = outcome.unprotected.as_dict()
    protected = outcome.protected.as_dict() if outcome.protected is not None else {}
    return [
        FigureRow(_in_words(name), _shown(without.get(name)), _shown(protected.get(name)))
        for name in {**without, **protected}
    ]


def as_markdown(outcome: Outcome) -> str:
    """The table as docs/incidents has it; rows that are empty in both halves are left out."""
    rows = [row for row in compute_rows(outcome) if row.without or row.protected]
    lines = [f"| {row.figure} | {_cell(row.without)} | {_cell(row.protected)} |" for row in rows]
    return "\n".join(["| figure | without | with |", "|---|---|---|", *lines])


def _cell(text: str) -> str:
    """Anything but a number or a word is quoted, so that Markdown leaves it alone."""
    plain = text.replace("|", "\\|")
    return plain if re.fullmatch(r"[\w.+-]*", plain) else f"`{plain}`"


def _in_words(name: str) -> str:
    """`killedByADrain` as `killed by a drain`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).lower()


def _shown(value: Figure) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
    return str(value)
