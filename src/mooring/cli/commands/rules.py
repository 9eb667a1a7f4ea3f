"""The invariants, their switches, and what was done."""

from typing import Annotated

import typer

from mooring.cli.application import (
    DryRun,
    Limit,
    Namespace,
    Output,
    Reason,
    State,
    Token,
    Url,
    Watch,
    Yes,
    app,
    ask,
    run_list,
)
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
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Stop an invariant from acting, on all replicas."""
    from mooring.cli import switching
    from mooring.cli.changes import Manner

    manner = Manner(dry_run, yes, reason, output)
    ask(lambda endpoint: switching.pause(invariant, manner, endpoint), url, token, state)


@app.command()
def resume(
    invariant: str,
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Let an invariant act again."""
    from mooring.cli import switching
    from mooring.cli.changes import Manner

    manner = Manner(dry_run, yes, reason, output)
    ask(lambda endpoint: switching.resume(invariant, manner, endpoint), url, token, state)


@app.command()
def arm(
    reason: Annotated[str, typer.Option("--reason", help="How you know; kept in the audit trail.")] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Declare the claims of a restored ledger complete, so that rules act again."""
    from mooring.cli.arming import arm as arm_ledger
    from mooring.cli.changes import Manner

    manner = Manner(dry_run, yes, reason, output)
    ask(lambda endpoint: arm_ledger(manner, endpoint), url, token, state)


@app.command()
def audit(
    namespace: Namespace = "",
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
    query = {"limit": str(limit), "namespace": namespace, "actor": actor, "name": name}
    run_list("AUDIT", query, output, watch, url, token, state)
