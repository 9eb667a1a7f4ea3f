"""Changes that a person asks for: told before they are made, confirmed on a terminal, then made and shown."""

import getpass
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from mooring.cli.output import Format, Row, printable, show_one
from mooring.model.errors import Refused


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is to be done: only told, without a question, why, and shown in which format."""

    dry_run: bool = False
    yes: bool = False
    reason: str = ""
    form: Format = Format.TABLE


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed, what that means for whom, and how it is done and told."""

    kind: str
    name: str
    before: Row
    impact: tuple[str, ...]
    act: Callable[[], Row]
    told: Callable[[Row], str]
    takes_away: bool = False  # something from somebody: a person at a terminal is asked first


def carry_out(change: Change, manner: Manner) -> None:
    """Show what it would do, or do it and show what became of it."""
    if manner.dry_run:
        would = {**change.before, "dryRun": True, "impact": list(change.impact)}
        show_one(change.kind, would, manner.form, change.name, lambda: _tell_impact(change))
        return
    if change.takes_away and not manner.yes and _is_a_person_there():
        _confirm(change)
    after = change.act()
    show_one(change.kind, after, manner.form, change.name, lambda: print(printable(change.told(after))))


def acting_user() -> str:
    """Who the audit trail names."""
    try:
        return f"cli/{getpass.getuser()}"
    except (KeyError, OSError):  # a container may run as a user that nobody gave a name
        return f"cli/uid-{os.getuid()}"


def _tell_impact(change: Change) -> None:
    for line in change.impact:
        print(printable(line))
    print("dry run: nothing was changed")


def _is_a_person_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _confirm(change: Change) -> None:
    for line in change.impact:
        print(printable(line), file=sys.stderr)
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("not confirmed: nothing was changed", fix="answer y, or give --yes")
