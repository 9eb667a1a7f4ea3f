"""Datasets on nodes: how warm they are, and warming them again."""

from typing import Annotated

import typer

from mooring.cli.application import DryRun, Namespace, Output, Reason, State, Token, Url, Watch, Yes, app, ask
from mooring.cli.output import Format


@app.command()
def warmups(
    name: Annotated[str, typer.Argument(help="One in full, with shards and evidence (name, or namespace/name).")] = "",
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Warmups: phase, shards that are warm, and why not."""
    from mooring.cli.warming import run_warmups

    ask(lambda endpoint: run_warmups(endpoint, name, namespace, output, watch=watch), url, token, state)


@app.command()
def warm(
    name: Annotated[str, typer.Argument(help="Which warmup (name, or namespace/name).")],
    force: Annotated[bool, typer.Option("--force", help="Fetch everything again, once, when nodes are Ready.")] = False,
    close_circuit: Annotated[bool, typer.Option("--close-circuit", help="Try again after too many failures.")] = False,
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
    from mooring.cli.changes import Manner
    from mooring.cli.warming import WarmCommand, run_warm

    asked, manner = WarmCommand(name, force, close_circuit, namespace), Manner(dry_run, yes, reason, output)
    ask(lambda endpoint: run_warm(asked, manner, endpoint), url, token, state)
