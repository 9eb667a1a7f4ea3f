"""The terminal's root: the typer application, and what its commands share."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.output import Format

app = typer.Typer(
    name="mooring",
    help="Worker fleets on Kubernetes, kept true to the cluster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich help costs more than 100 ms of imports
)

Output = Annotated[Format, typer.Option("-o", "--output", help="table, wide, json, yaml, ndjson or name.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Show again whenever something changed.")]
Url = Annotated[str, typer.Option("--url", help="Where Mooring answers; else MOORING_URL or the state folder.")]
Token = Annotated[str, typer.Option("--token", help="Bearer token; else MOORING_TOKEN or the state folder.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder of a local 'mooring up'.")]


def run_list(
    name: str, query: dict[str, str], output: Format, watch: bool, url: str, token: str, state: Path | None
) -> None:
    """Show a listing of `cli.listings`."""
    from mooring.cli import listings
    from mooring.cli.failures import guarded
    from mooring.client.connection import find_endpoint

    listing = getattr(listings, name)
    guarded(lambda: listings.run_listing(listing, find_endpoint(url, token, state), query, output, watch))
