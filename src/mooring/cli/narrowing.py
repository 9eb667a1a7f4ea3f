"""Filters of listings by name: of something that does not exist there is no empty list."""

from collections.abc import Mapping

from mooring.client.connection import Connection
from mooring.model.errors import NotFound
from mooring.model.spelling import suggest


def refuse_unknown(connection: Connection, narrowed_by: Mapping[str, str], query: Mapping[str, str]) -> None:
    """Raise `NotFound` when a filter names what no list has. `narrowed_by` tells the list of each filter."""
    for filter_, kind in narrowed_by.items():
        asked = query.get(filter_, "")
        rows = connection.get(f"/v1/{kind}")["items"] if asked else ()
        known = {f"{row['namespace']}/{row['name']}" if "namespace" in row else row["name"] for row in rows}
        if asked and asked not in known | {row["name"] for row in rows}:
            raise NotFound(f"there is no {kind.removesuffix('s')} {asked!r}", fix=suggest(asked, known, kind))
