"""Submissions: submit batch work, follow it, read its logs, stop it."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.application import Namespace, Output, State, Token, Url, Watch, Yes, app, ask, run_list
from mooring.cli.output import Format

Target = Annotated[str, typer.Option("--namespace", "-n", help="Where it goes; else the file's, or default.")]


@app.command()
def submit(
    file: Annotated[Path, typer.Option("--file", "-f", help="A Submission, or only its spec, as YAML or JSON.")],
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Follow its steps to the end.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it, and say what would be made.")] = False,
    namespace: Target = "",
    reason: Annotated[str, typer.Option("--reason", help="Why; kept on the submission.")] = "",
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Submit batch work. The same key and spec again is the same submission."""
    from mooring.cli.changes import Manner
    from mooring.cli.failures import guarded
    from mooring.cli.submitting import run_dry, run_submit

    if dry_run:
        guarded(lambda: run_dry(file, namespace, output))
        return
    manner = Manner(dry_run, yes, reason, output)
    raise typer.Exit(ask(lambda endpoint: run_submit(file, namespace, watch, manner, endpoint), url, token, state))


@app.command()
def submissions(
    name: Annotated[str, typer.Argument(help="Only this one (name or key, or namespace/name).")] = "",
    phase: Annotated[str, typer.Option("--phase", help="Only in this phase.")] = "",
    logs: Annotated[str, typer.Option("--logs", help="Show the last lines of this step.", metavar="STEP")] = "",
    lines: Annotated[int, typer.Option("--lines", min=1, max=1000, help="How many of them.")] = 60,
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop it: deletes what runs.")] = False,
    finalize: Annotated[bool, typer.Option("--finalize", help="With --cancel: the finalizer still runs.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="With --cancel: why, for the audit trail.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --cancel: only say what would happen.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --cancel: do not ask, also on a terminal.")] = False,
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Submissions: phase, steps and why; of one of them also gates, steps, logs and evidence."""
    if not name:
        if cancel or logs:
            raise typer.BadParameter("say which one: NAME is missing")
        run_list("SUBMISSIONS", {"namespace": namespace, "phase": phase}, output, watch, url, token, state)
        return
    from mooring.cli.changes import Manner
    from mooring.cli.submitting import find_name, run_cancel, run_follow, run_logs, run_show
    from mooring.client.connection import Endpoint

    found = find_name(name, namespace)

    def act(endpoint: Endpoint) -> int:
        if logs:
            return run_logs(found, logs, lines, endpoint)
        if cancel:
            return run_cancel(found, finalize, Manner(dry_run, yes, reason, output), endpoint)
        return run_follow(found, output, endpoint) if watch else run_show(found, output, endpoint)

    raise typer.Exit(ask(act, url, token, state))
