"""Datasets on nodes: how warm they are, and warming them again."""

from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, Watch, app
from mooring.cli.output import Format


@app.command()
def warmups(
    name: Annotated[str, typer.Argument(help="One in full, with shards and evidence (name, or namespace/name).")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Warmups: phase, shards that are warm, and why not."""
    from mooring.cli.failures import guarded
    from mooring.cli.warming import run_warmups
    from mooring.client.connection import find_endpoint

    guarded(lambda: run_warmups(find_endpoint(url, token, state), name, output, watch))


@app.command()
def warm(
    name: Annotated[str, typer.Argument(help="Which warmup (name, or namespace/name).")],
    force: Annotated[bool, typer.Option("--force", help="Fetch everything again, once, when nodes are Ready.")] = False,
    close_circuit: Annotated[bool, typer.Option("--close-circuit", help="Try again after too many failures.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the audit trail.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Warm a dataset again."""
    from mooring.cli.failures import guarded
    from mooring.cli.warming import WarmCommand, run_warm
    from mooring.client.connection import find_endpoint

    asked = WarmCommand(name, force, close_circuit, reason, dry_run)
    guarded(lambda: run_warm(asked, find_endpoint(url, token, state)))
