"""The invariants, their switches, and what was done."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, Watch, app, run_list
from mooring.cli.output import Format


@app.command()
def invariants(
    output: Output = Format.TABLE, watch: Watch = False, url: Url = "", token: Token = "", state: State = None
) -> None:
    """The rules, and whether they hold."""
    run_list("INVARIANTS", {}, output, watch, url, token, state)


@app.command()
def pause(
    invariant: str,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the audit trail.")] = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Stop an invariant from acting, on all replicas."""
    _switch("pause", invariant, reason, url, token, state)


@app.command()
def resume(
    invariant: str,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the audit trail.")] = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Let an invariant act again."""
    _switch("resume", invariant, reason, url, token, state)


@app.command()
def arm(
    reason: Annotated[str, typer.Option("--reason", help="How you know; kept in the audit trail.")] = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Declare the claims of a restored ledger complete, so that rules act again."""
    from mooring.cli.arming import arm as arm_ledger
    from mooring.cli.failures import guarded
    from mooring.client.connection import find_endpoint

    guarded(lambda: arm_ledger(reason, find_endpoint(url, token, state)))


@app.command()
def audit(
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many rows.")] = 50,
    actor: Annotated[str, typer.Option("--actor", help="Only by this actor.")] = "",
    name: Annotated[str, typer.Option("--name", help="Only on objects of this name.")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """What was done, by whom, and on what evidence."""
    run_list("AUDIT", {"limit": str(limit), "actor": actor, "name": name}, output, watch, url, token, state)


def _switch(verb: str, invariant: str, reason: str, url: str, token: str, state: Path | None) -> None:
    from mooring.cli.failures import guarded
    from mooring.cli.switching import flip
    from mooring.client.connection import find_endpoint

    guarded(lambda: flip(verb, invariant, reason, find_endpoint(url, token, state)))
