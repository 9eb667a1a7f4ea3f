"""Commands for submissions: submit batch work, follow it, read its logs, cancel it."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.application import Namespace, Output, State, Target, Token, Url, Watch, Yes, app, call_remote, run_list
from mooring.cli.output import Format


@app.command()
def submit(
    file: Annotated[Path, typer.Option("--file", "-f", help="A Submission, or only its spec, as YAML or JSON.")],
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Follow its steps to the end.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it, and print what would be created.")] = False,
    namespace: Target = "",
    reason: Annotated[str, typer.Option("--reason", help="Reason, kept on the submission.")] = "",
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Submit batch work. The same key and spec again is the same submission."""
    from mooring.cli.failures import guarded
    from mooring.cli.remote.mutation import MutationOptions
    from mooring.cli.remote.submissions import run_dry, run_submit

    if dry_run:
        guarded(lambda: run_dry(file, namespace, output))
        return
    options = MutationOptions(dry_run, yes, reason, output)
    code = call_remote(lambda endpoint: run_submit(file, namespace, watch, options, endpoint), url, token, state)
    raise typer.Exit(code)


@app.command()
def submissions(
    name: Annotated[str, typer.Argument(help="Only this submission (name or key, or namespace/name).")] = "",
    phase: Annotated[str, typer.Option("--phase", help="Only in this phase.")] = "",
    logs: Annotated[str, typer.Option("--logs", help="Print the last log lines of this step.", metavar="STEP")] = "",
    lines: Annotated[int, typer.Option("--lines", min=1, max=1000, help="With --logs: how many lines.")] = 60,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel it: running Jobs are deleted.")] = False,
    finalize: Annotated[bool, typer.Option("--finalize", help="With --cancel: the finalizer still runs.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="With --cancel: reason for the audit trail.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --cancel: print what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --cancel: do not ask for confirmation.")] = False,
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List submissions, or print one with its gates, steps and evidence."""
    if not name:
        if cancel or logs:
            raise typer.BadParameter("NAME is missing: name the submission")
        run_list("SUBMISSIONS", {"namespace": namespace, "phase": phase}, output, watch, url, token, state)
        return
    from mooring.cli.remote.mutation import MutationOptions
    from mooring.cli.remote.submissions import find_name, run_cancel, run_follow, run_logs, run_show
    from mooring.client.connection import Endpoint

    def act(endpoint: Endpoint) -> int:
        found = find_name(name, namespace, endpoint)
        if logs:
            return run_logs(found, logs, lines, endpoint)
        if cancel:
            return run_cancel(found, finalize, MutationOptions(dry_run, yes, reason, output), endpoint)
        return run_follow(found, output, endpoint) if watch else run_show(found, output, endpoint)

    raise typer.Exit(call_remote(act, url, token, state))
