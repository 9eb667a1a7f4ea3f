"""One object by its name: found in its listing, printed, and printed again when it changes."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from mooring.cli.output import Format, Row, clear_terminal, show_change, show_one
from mooring.cli.remote.listing import Listing, stream_ended, watch_changes
from mooring.client.connection import Connection
from mooring.model.errors import InvalidInput, NotFound
from mooring.model.suggestions import suggest

PrintText = Callable[[Row, Format], None]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Which object: by `namespace/name`, or by a name that is unique, or unique in the namespace.

    Where objects have a key, it serves as a name too.
    """

    listing: Listing
    name: str
    namespace: str = ""


def run_one(connection: Connection, lookup: Lookup, output: Format, watch: bool, print_text: PrintText) -> None:
    """Print it; with `watch`, until the stream of changes ends."""
    if not watch:
        _show(lookup.listing, find_one(connection, lookup), output, print_text)
        return
    known: Row | None = None
    for _ in watch_changes(connection, lookup.listing.watches):
        found = find_one(connection, lookup)
        if found != known and output is Format.NDJSON:
            show_change("ADDED" if known is None else "MODIFIED", found)
        elif found != known:
            clear_terminal()
            _show(lookup.listing, found, output, print_text)
            sys.stdout.flush()
        known = found
    raise stream_ended()


def find_one(connection: Connection, lookup: Lookup) -> Row:
    """The object; raises `NotFound` or, when several have that name, `InvalidInput`."""
    name, namespace, noun = lookup.name, lookup.namespace, lookup.listing.noun
    rows: list[Row] = connection.get(lookup.listing.path)["items"]
    keys = {_key(row): row for row in rows if namespace in ("", row.get("namespace", namespace))}
    found = {key: row for key, row in keys.items() if name in _names(row)}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise InvalidInput("NAME", name, f"one of {', '.join(found)}")
    where = f" in {namespace}" if namespace else ""
    raise NotFound(f"there is no {noun} {name!r}{where}", fix=suggest(name, keys, f"{noun}s{where}"))


def _key(row: Row) -> str:
    return f"{row['namespace']}/{row['name']}" if "namespace" in row else str(row["name"])


def _names(row: Row) -> set[str]:
    short = {row["name"], row.get("key") or row["name"]}
    return short | {f"{row['namespace']}/{name}" for name in short if "namespace" in row}


def _show(listing: Listing, found: Row, output: Format, print_text: PrintText) -> None:
    kind = listing.kind.removesuffix("List")
    show_one(kind, found, output, listing.name.format(**found), lambda: print_text(found, output))
