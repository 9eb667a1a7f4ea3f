"""How a listing is printed: once, or again whenever something in it changes."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from mooring.cli.output import Column, Format, Row, clear_terminal, show_change, show_list
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import Unreachable
from mooring.model.errors import NotFound
from mooring.model.suggestions import suggest


@dataclass(frozen=True, slots=True)
class Listing:
    """What a listing shows, and the route it comes from."""

    kind: str
    path: str
    columns: tuple[Column, ...]
    name: str  # format of `-o name`
    watches: frozenset[str]  # kinds of change after which it is read again
    filters: Mapping[str, str] = field(default_factory=dict)  # filters by name -> the list that has these names

    @property
    def noun(self) -> str:
        """What one of its objects is called."""
        return self.name.partition("/")[0]


def run_listing(listing: Listing, endpoint: Endpoint, query: dict[str, str], output: Format, *, watch: bool) -> None:
    """Print it once; with `watch`, until the stream of changes ends."""
    connection = Connection(endpoint)
    if watch:
        _watch(listing, connection, query, output)
    answer = connection.get(listing.path, query)
    rows = answer["items"]
    if not rows:
        _check_filters(connection, listing.filters, query)
    _print(listing, rows, output)
    if not rows and output in (Format.TABLE, Format.WIDE):
        print(_nothing(listing, query), file=sys.stderr)
    if answer["total"] > len(rows):
        print(f"{len(rows)} of {answer['total']} shown; more with --limit", file=sys.stderr)


def watch_changes(connection: Connection, watches: frozenset[str]) -> Iterator[None]:
    """Yields when the stream is open, when one of these kinds changes, and when events may have been missed."""
    event, listening = "", False
    for line in connection.lines("/v1/events"):
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        if name != "data":
            continue
        if not listening or event == "resync" or watches & set(json.loads(value).get("changes", {})):
            listening = True
            yield


def stream_ended() -> Unreachable:
    """The error that ends a watch."""
    return Unreachable("the stream of changes ended", fix="is Mooring still running? watch again")


def _watch(listing: Listing, connection: Connection, query: dict[str, str], output: Format) -> NoReturn:
    """Reads the list after the stream is open, so that no change is missed in between. Ends only with an error."""
    key = listing.name.format
    known: dict[str, Row] | None = None
    for _ in watch_changes(connection, listing.watches):
        rows = connection.get(listing.path, query)["items"]
        if known is None and not rows:
            _check_filters(connection, listing.filters, query)
        before, current = known or {}, {key(**row): row for row in rows}
        changes = [
            ("ADDED" if name not in before else "MODIFIED", row)
            for name, row in current.items()
            if before.get(name) != row
        ]
        changes += [("DELETED", row) for name, row in before.items() if name not in current]
        if changes or known is None:
            _print_again(listing, rows, output, changes)
        known = current
    raise stream_ended()


def _print(listing: Listing, rows: Sequence[Row], output: Format) -> None:
    show_list(listing.kind, rows, listing.columns, output, lambda row: listing.name.format(**row))


def _print_again(listing: Listing, rows: Sequence[Row], output: Format, changes: list[tuple[str, Row]]) -> None:
    if output is Format.NDJSON:
        for change, row in changes:
            show_change(change, row)
        return
    clear_terminal()
    _print(listing, rows, output)
    sys.stdout.flush()


def _nothing(listing: Listing, query: Mapping[str, str]) -> str:
    """Says that the empty table is the answer: of a namespace, or of everything."""
    namespace = query.get("namespace", "")
    where = f" in namespace {namespace}; without -n those of all namespaces are listed" if namespace else ""
    return f"nothing found{where}"


def _check_filters(connection: Connection, filters: Mapping[str, str], query: Mapping[str, str]) -> None:
    """Raise `NotFound` when a filter names an object that does not exist: an empty list would hide the mistake."""
    for filter_, kind in filters.items():
        asked = query.get(filter_, "")
        rows = connection.get(f"/v1/{kind}")["items"] if asked else ()
        known = {f"{row['namespace']}/{row['name']}" if "namespace" in row else row["name"] for row in rows}
        if asked and asked not in known | {row["name"] for row in rows}:
            raise NotFound(f"there is no {kind.removesuffix('s')} {asked!r}", fix=suggest(asked, known, kind))
