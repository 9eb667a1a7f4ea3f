"""Changes that a user requests: printed in a dry run, confirmed on a terminal, then applied and printed."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from mooring.cli.output import Format, Row, print_line, printable, show_one
from mooring.model.errors import Refused


@dataclass(frozen=True, slots=True)
class MutationOptions:
    """`--dry-run`, `--yes`, `--reason` and `-o`."""

    dry_run: bool = False
    yes: bool = False
    reason: str = ""
    output: Format = Format.TABLE


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change: the object before it, its impact in sentences, how to apply it, and the text for its outcome."""

    kind: str
    name: str
    before: Row
    impact: tuple[str, ...]
    apply: Callable[[], Row]
    describe: Callable[[Row], str]
    needs_confirmation: bool = False  # it takes something away from somebody


def run_mutation(mutation: Mutation, options: MutationOptions) -> None:
    """Print what would change, or apply the change and print its outcome."""
    if options.dry_run:
        would = {**mutation.before, "dryRun": True, "impact": list(mutation.impact)}
        show_one(mutation.kind, would, options.output, mutation.name, lambda: _print_impact(mutation))
        return
    if mutation.needs_confirmation and not options.yes and is_interactive():
        _confirm(mutation)
    after = mutation.apply()
    show_one(mutation.kind, after, options.output, mutation.name, lambda: _print_outcome(mutation, after))


def _print_outcome(mutation: Mutation, after: Row) -> None:
    for line in mutation.describe(after).splitlines():
        print_line(line)


def _print_impact(mutation: Mutation) -> None:
    for line in mutation.impact:
        print_line(line)
    print("dry run: nothing was changed")


def is_interactive() -> bool:
    """Whether a question would be read and answered by a person."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _confirm(mutation: Mutation) -> None:
    for line in mutation.impact:
        print(printable(line), file=sys.stderr)
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("not confirmed: nothing was changed", fix="answer y, or give --yes")
