"""The invariants, their switches, and what was done."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.application import Limit, Output, Reason, State, Token, Url, Watch, app, ask, run_list
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
    reason: Reason = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Stop an invariant from acting, on all replicas."""
    _switch("pause", invariant, reason, url, token, state)


@app.command()
def resume(
    invariant: str,
    reason: Reason = "",
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

    ask(lambda endpoint: arm_ledger(reason, endpoint), url, token, state)


@app.command()
def audit(
    limit: Limit = 50,
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
    from mooring.cli.switching import flip

    ask(lambda endpoint: flip(verb, invariant, reason, endpoint), url, token, state)
