"""The terminal's root: the typer application, and what its commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from mooring.cli.output import Format

if TYPE_CHECKING:
    from mooring.client.connection import Endpoint

T = TypeVar("T")

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
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Only of this namespace.")]
Pool = Annotated[str, typer.Option("--pool", "-p", help="Only of this pool (namespace/name, or a name).")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many rows.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the audit trail.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, also on a terminal.")]
Url = Annotated[str, typer.Option("--url", help="Where Mooring answers; else MOORING_URL or the state folder.")]
Token = Annotated[str, typer.Option("--token", help="Bearer token; else MOORING_TOKEN or the state folder.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder of a local 'mooring up'.")]


def ask(act: Callable[["Endpoint"], T], url: str, token: str, state: Path | None) -> T:
    """Find Mooring and act there; an error ends the command with its exit code."""
    from mooring.cli.failures import guarded
    from mooring.client.connection import find_endpoint

    return guarded(lambda: act(find_endpoint(url, token, state)))


def run_list(
    name: str, query: dict[str, str], output: Format, watch: bool, url: str, token: str, state: Path | None
) -> None:
    """Show a listing of `cli.listings`."""
    from mooring.cli import listings

    listing = getattr(listings, name)
    ask(lambda endpoint: listings.run_listing(listing, endpoint, query, output, watch), url, token, state)
