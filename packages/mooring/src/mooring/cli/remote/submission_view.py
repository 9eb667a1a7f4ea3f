"""A submission in the terminal: progress while it runs; gates, steps and evidence in full."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from mooring.cli.output import Column, Row, printable, show_table

MOST_STEPS = 40
_MARKS = {"ok": "✓", "fail": "✕", "unknown": "?"}
_KINDS = ("setup", "batch", "finalizer")


class ProgressView(Protocol):
    """Prints the progress of one submission."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, found: Row) -> None:
        """Print its current state."""
        ...


def progress_view() -> ProgressView:
    """Progress bars on a terminal, one line for each change elsewhere."""
    return Bars() if sys.stderr.isatty() else Lines()


class Lines:
    """One line for each change, on stderr: stdout is for data."""

    def __init__(self) -> None:
        self._printed = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, found: Row) -> None:
        text = f"{found['status']['phase']}: {found['status']['message']}"
        if text != self._printed:
            print(printable(f"mooring: {text}"), file=sys.stderr, flush=True)
        self._printed = text


class Bars:
    """One bar for each kind of step."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[why]}", markup=False),
            console=Console(stderr=True),
        )
        self._tasks = {kind: self._progress.add_task(kind, visible=False, why="") for kind in _KINDS}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, found: Row) -> None:
        for kind, task in self._tasks.items():
            steps = [step for step in found["status"]["steps"] if step["kind"] == kind]
            done = sum(step["phase"] in ("Succeeded", "Failed", "Cancelled", "Skipped") for step in steps)
            why = found["status"]["message"] if kind == "batch" else next((step.get("why", "") for step in steps), "")
            self._progress.update(task, total=len(steps), completed=done, visible=bool(steps), why=printable(why)[:100])


def print_submission(found: Row) -> None:
    """Print a submission with all of its parts."""
    status = found["status"]
    jobs = status["jobs"]
    print(printable(f"submission/{found['namespace']}/{found['name']} {status['phase']}: {status['message']}"))
    print(printable(f"  key {found['key']}, program {found['program']}"))
    print(f"  {jobs['succeeded']} of {jobs['total']} steps succeeded, {jobs['active']} active, {jobs['failed']} failed")
    for gate in status["gates"]:
        fix = f" (fix: {gate['fix']})" if gate["state"] != "ok" and gate["fix"] else ""
        print(printable(f"  {_MARKS.get(gate['state'], '?')} gate {gate['id']}: {gate['message']}{fix}"))
    for job in (status.get("adoption") or {}).get("jobs", ()):
        print(printable(f"  adopted Job {job['name']} {job['state']}: {job['why']}"))
    if status["steps"]:
        _print_steps(status["steps"])
    if failure := status["failure"]:
        where = f"{failure['pod']} / {failure['container']}, exit code {failure['exitCode']}" if failure["pod"] else ""
        print(printable(f"{failure['reason']}{': ' + where if where else ''}"))
        for line in failure["logs"]:
            print(printable(f"  {line}"))


def _print_steps(steps: Sequence[Row]) -> None:
    """All steps, or only those that did not succeed when there are many."""
    shown = steps if len(steps) <= MOST_STEPS else [step for step in steps if step.get("phase") != "Succeeded"]
    columns = [
        Column("STEP", lambda step: step["name"]),
        Column("KIND", lambda step: step["kind"]),
        Column("PHASE", lambda step: step.get("phase", "Waiting")),
        Column("ATTEMPTS", lambda step: step.get("attempts", 0)),
        Column("JOB", lambda step: step.get("job")),
        Column("WHY", lambda step: step.get("why"), text=True),
    ]
    show_table(shown[:MOST_STEPS], columns)
    if len(shown) < len(steps) or len(shown) > MOST_STEPS:
        print(f"{min(len(shown), MOST_STEPS)} of {len(steps)} steps shown; all with -o json", file=sys.stderr)
