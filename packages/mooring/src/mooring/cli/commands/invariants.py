"""Commands for the invariants, their kill switches, the ledger, and the audit trail."""

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
    call_remote,
    run_list,
)
from mooring.cli.output import Format


@app.command()
def invariants(
    output: Output = Format.TABLE, watch: Watch = False, url: Url = "", token: Token = "", state: State = None
) -> None:
    """List invariants: whether each holds, and what was repaired."""
    run_list("INVARIANTS", {}, output, watch, url, token, state)


@app.command()
def pause(
    invariant: Annotated[str, typer.Argument(help="Id of the invariant.")],
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Stop an invariant from acting, on all replicas."""
    from mooring.cli.remote import switches
    from mooring.cli.remote.mutation import MutationOptions

    options = MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: switches.pause(invariant, options, endpoint), url, token, state)


@app.command()
def resume(
    invariant: Annotated[str, typer.Argument(help="Id of the invariant.")],
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Let an invariant act again."""
    from mooring.cli.remote import switches
    from mooring.cli.remote.mutation import MutationOptions

    options = MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: switches.resume(invariant, options, endpoint), url, token, state)


@app.command()
def arm(
    reason: Annotated[str, typer.Option("--reason", help="How you verified it; kept in the audit trail.")] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Confirm that the claims of a restored ledger are complete, so that invariants act again."""
    from mooring.cli.remote.ledger import run_arm
    from mooring.cli.remote.mutation import MutationOptions

    options = MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: run_arm(options, endpoint), url, token, state)


@app.command()
def audit(
    namespace: Namespace = "",
    limit: Limit = 50,
    actor: Annotated[str, typer.Option("--actor", help="Only by this actor.")] = "",
    name: Annotated[str, typer.Option("--name", help="Only acts on objects of this name.")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List what Mooring did, for whom, and on what evidence."""
    query = {"limit": str(limit), "namespace": namespace, "actor": actor, "name": name}
    run_list("AUDIT", query, output, watch, url, token, state)
