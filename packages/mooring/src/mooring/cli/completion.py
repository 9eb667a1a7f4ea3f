"""Completion in shells: names of pools, workers, nodes and claims, as Mooring answers them within a second.

An error completes nothing: a shell has no place for a message while a person types.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mooring.cli.output import Row

_TIMEOUT_SECONDS = 1.0
_OPEN_CLAIMS = {"state": "queued,claimed,running", "limit": "1000"}
EXPLAINED_KINDS = ("pod", "pool", "worker", "node", "claim", "service")

Complete = Callable[[typer.Context, str], list[str]]


def complete_pools(ctx: typer.Context, incomplete: str) -> list[str]:
    """`namespace/name` of each pool."""
    return _matching(incomplete, _names(ctx, "/v1/pools"))


def complete_workers(ctx: typer.Context, incomplete: str) -> list[str]:
    """`namespace/name` of each worker."""
    return _matching(incomplete, _names(ctx, "/v1/workers"))


def complete_nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of nodes."""
    return _matching(incomplete, _names(ctx, "/v1/nodes"))


def complete_claims(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of open claims."""
    return _matching(incomplete, _names(ctx, "/v1/claims", _OPEN_CLAIMS))


def complete_explained(ctx: typer.Context, incomplete: str) -> list[str]:
    """`KIND/` first, then the names of that kind."""
    kind, slash, _ = incomplete.partition("/")
    if not slash:
        return _matching(incomplete, (f"{kind}/" for kind in EXPLAINED_KINDS))
    paths = {"pods": "workers"}.get(f"{kind}s", f"{kind}s")
    query = _OPEN_CLAIMS if kind == "claim" else None
    return _matching(incomplete, (f"{kind}/{name}" for name in _names(ctx, f"/v1/{paths}", query)))


def complete_runbook(incomplete: str) -> list[str]:
    """Headings of the runbook."""
    from mooring.runbook import read_sections

    return _matching(incomplete, iter({section.heading for section in read_sections()}))


def _matching(incomplete: str, names: Iterator[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _names(ctx: typer.Context, path: str, query: dict[str, str] | None = None) -> Iterator[str]:
    from mooring.client.connection import Connection, find_endpoint
    from mooring.model.errors import MooringError

    given: dict[str, Any] = ctx.params
    state: Path | None = given.get("state")
    try:
        endpoint = find_endpoint(given.get("url") or "", given.get("token") or "", state)
        rows = Connection(endpoint, _TIMEOUT_SECONDS).get(path, query)["items"]
    except MooringError:
        return
    yield from map(_name, rows)


def _name(row: "Row") -> str:
    if "id" in row:
        return str(row["id"])
    return f"{row['namespace']}/{row['name']}" if "namespace" in row else str(row["name"])
