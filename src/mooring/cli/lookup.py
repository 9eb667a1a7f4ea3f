"""One thing by its name: found in its listing, shown in full, and again whenever it changed."""

import json
import sys
from collections.abc import Callable

from mooring.cli.listings import Listing, reasons_to_look
from mooring.cli.output import Format, Row, show_one
from mooring.client.connection import Connection
from mooring.client.errors import Unreachable
from mooring.model.errors import InvalidInput, NotFound
from mooring.model.spelling import suggest

Tell = Callable[[Row, Format], None]


def run_one(
    connection: Connection, listing: Listing, name: str, namespace: str, form: Format, watch: bool, tell: Tell
) -> None:
    """Show it; with `watch` until the stream of changes ends."""
    if not watch:
        _show(listing, find_one(connection, listing, name, namespace), form, tell)
        return
    known: Row | None = None
    for _ in reasons_to_look(connection, listing.watches):
        found = find_one(connection, listing, name, namespace)
        if found != known:
            _show_again(listing, found, form, tell, fresh=known is None)
        known = found
    raise Unreachable("the stream of changes ended", fix="is Mooring still running? watch again")


def find_one(connection: Connection, listing: Listing, name: str, namespace: str = "") -> Row:
    """By `namespace/name`, or by a name that only one has, or only one of that namespace."""
    rows: list[Row] = connection.get(listing.path)["items"]
    keys = {f"{row['namespace']}/{row['name']}": row for row in rows if namespace in ("", row["namespace"])}
    found = {key: row for key, row in keys.items() if name in (key, row["name"])}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise InvalidInput("NAME", name, f"one of {', '.join(found)}")
    where = f" in {namespace}" if namespace else ""
    raise NotFound(f"there is no {listing.noun} {name!r}{where}", fix=suggest(name, keys, f"{listing.noun}s{where}"))


def _show(listing: Listing, found: Row, form: Format, tell: Tell) -> None:
    kind = listing.kind.removesuffix("List")
    show_one(kind, found, form, listing.name.format(**found), lambda: tell(found, form))


def _show_again(listing: Listing, found: Row, form: Format, tell: Tell, *, fresh: bool) -> None:
    if form is Format.NDJSON:
        print(json.dumps({"type": "ADDED" if fresh else "MODIFIED", "object": found}), flush=True)
        return
    if sys.stdout.isatty():
        print("\x1b[H\x1b[2J", end="")
    _show(listing, found, form, tell)
    sys.stdout.flush()
