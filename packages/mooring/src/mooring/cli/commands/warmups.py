"""Commands for warmups: how warm datasets are on their nodes, and warming them again."""

from typing import Annotated

import typer

from mooring.cli.application import DryRun, Namespace, Output, Reason, State, Token, Url, Watch, Yes, app, call_remote
from mooring.cli.output import Format


@app.command()
def warmups(
    name: Annotated[str, typer.Argument(help="Only this warmup, with its shards (name, or namespace/name).")] = "",
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List warmups: phase, warm shards, and why."""
    from mooring.cli.remote.warmups import run_warmups

    call_remote(lambda endpoint: run_warmups(endpoint, name, namespace, output, watch=watch), url, token, state)


@app.command()
def warm(
    name: Annotated[str, typer.Argument(help="Name of the warmup (name, or namespace/name).")],
    force: Annotated[bool, typer.Option("--force", help="Fetch all shards again, once, on Ready nodes.")] = False,
    close_circuit: Annotated[bool, typer.Option("--close-circuit", help="Retry after too many failures.")] = False,
    namespace: Namespace = "",
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Warm a dataset again."""
    from mooring.cli.remote.mutation import MutationOptions
    from mooring.cli.remote.warmups import WarmCommand, run_warm

    asked, options = WarmCommand(name, force, close_circuit, namespace), MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: run_warm(asked, options, endpoint), url, token, state)
