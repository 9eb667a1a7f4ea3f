"""Submissions: submit batch work, follow it, read its logs, stop it."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, Watch, app, ask, run_list
from mooring.cli.output import Format

Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace; else the file's, or default.")]


@app.command()
def submit(
    file: Annotated[Path, typer.Option("--file", "-f", help="A Submission, or only its spec, as YAML or JSON.")],
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Follow its steps to the end.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it, and say what would be made.")] = False,
    namespace: Namespace = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Submit batch work. The same key and spec again is the same submission."""
    from mooring.cli.failures import guarded
    from mooring.cli.submitting import run_dry, run_submit

    if dry_run:
        guarded(lambda: run_dry(file, namespace))
        return
    raise typer.Exit(ask(lambda endpoint: run_submit(file, namespace, watch, endpoint), url, token, state))


@app.command()
def submissions(
    name: Annotated[str, typer.Argument(help="Only this one (name or key, or namespace/name).")] = "",
    phase: Annotated[str, typer.Option("--phase", help="Only in this phase.")] = "",
    logs: Annotated[str, typer.Option("--logs", help="Show the last lines of this step.", metavar="STEP")] = "",
    lines: Annotated[int, typer.Option("--lines", min=1, max=1000, help="How many of them.")] = 60,
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop it: deletes what runs.")] = False,
    finalize: Annotated[bool, typer.Option("--finalize", help="With --cancel: the finalizer still runs.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="With --cancel: why, for the audit trail.")] = "",
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Submissions: phase, steps and why; of one of them also gates, steps, logs and evidence."""
    if not name:
        run_list("SUBMISSIONS", {"namespace": namespace, "phase": phase}, output, watch, url, token, state)
        return
    from mooring.cli.submitting import find_name, run_cancel, run_follow, run_logs, run_show
    from mooring.client.connection import Endpoint

    found = find_name(name, namespace)

    def act(endpoint: Endpoint) -> int:
        if logs:
            return run_logs(found, logs, lines, endpoint)
        if cancel:
            return run_cancel(found, finalize, reason, endpoint)
        return run_follow(found, endpoint) if watch else run_show(found, output, endpoint)

    raise typer.Exit(ask(act, url, token, state))
