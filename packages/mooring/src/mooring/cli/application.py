"""The typer application, and the options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from mooring import __version__
from mooring.cli.completion import complete_pools, complete_workers
from mooring.cli.help_groups import GroupedHelp
from mooring.cli.output import Format

if TYPE_CHECKING:
    from mooring.client.connection import Endpoint

T = TypeVar("T")

app = typer.Typer(
    name="mooring",
    cls=GroupedHelp,
    help="Keeps worker fleets on Kubernetes in agreement with the cluster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich help costs more than 100 ms of imports
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mooring {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and stop.")
    ] = False,
) -> None:
    """Keeps worker fleets on Kubernetes in agreement with the cluster."""


Output = Annotated[Format, typer.Option("-o", "--output", help="table, wide, json, yaml, ndjson or name.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Print again whenever something changes.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Only in this namespace.")]
Pool = Annotated[
    str,
    typer.Option("--pool", "-p", help="Only of this pool (namespace/name, or a name).", autocompletion=complete_pools),
]
PoolArgument = Annotated[
    str, typer.Argument(help="Pool of the worker (namespace/name).", autocompletion=complete_pools)
]
Worker = Annotated[
    str,
    typer.Argument(
        help="Worker (namespace/name, or a unique name).", metavar="WORKER", autocompletion=complete_workers
    ),
]
Target = Annotated[str, typer.Option("--namespace", "-n", help="Target namespace; default: the file's, then default.")]
Ttl = Annotated[str, typer.Option("--ttl", help="The claim expires this long after the last heartbeat.")]
Wait = Annotated[str, typer.Option("--wait", help="How long to wait for a free worker.")]
Key = Annotated[str, typer.Option("--key", help="Idempotency key: the same key gets the same claim.")]
Priority = Annotated[int, typer.Option("--priority", help="Higher is served first.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of rows.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, kept in the audit trail.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation on a terminal.")]
Url = Annotated[str, typer.Option("--url", help="Address of Mooring; default: MOORING_URL, state folder, login.")]
Token = Annotated[str, typer.Option("--token", help="Bearer token; default: MOORING_TOKEN, state folder, login.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder of a local 'mooring up'.")]


def call_remote(action: Callable[["Endpoint"], T], url: str, token: str, state: Path | None) -> T:
    """Find Mooring and run the action there; an error ends the command with its exit code."""
    from mooring.cli.failures import guarded
    from mooring.client.connection import find_endpoint

    return guarded(lambda: action(find_endpoint(url, token, state)))


def run_list(
    name: str, query: dict[str, str], output: Format, watch: bool, url: str, token: str, state: Path | None
) -> None:
    """Print one of the listings in `cli.remote.listings`."""
    from mooring.cli.remote import listings
    from mooring.cli.remote.listing import run_listing

    listing = getattr(listings, name)
    call_remote(lambda endpoint: run_listing(listing, endpoint, query, output, watch=watch), url, token, state)
