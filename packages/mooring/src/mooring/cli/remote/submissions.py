"""`mooring submit` and `mooring submissions NAME`: send, follow, print, logs, cancel."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mooring.cli.failures import FAILED, OK
from mooring.cli.output import Format, Row, print_line, printable, show_one
from mooring.cli.remote.listing import stream_ended, watch_changes
from mooring.cli.remote.listings import SUBMISSIONS
from mooring.cli.remote.lookup import Lookup, find_one
from mooring.cli.remote.manifest import read_manifest
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.cli.remote.submission_view import ProgressView, print_submission, progress_view
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import Conflict
from mooring.model.submission import job_name, name_for, read_spec, steps_of
from mooring.model.submission_checks import check_submission, check_submission_name

DEFAULT_NAMESPACE = "default"
_ENDED = {"Succeeded": OK, "Failed": FAILED, "Refused": FAILED}


@dataclass(frozen=True, slots=True)
class Name:
    """Namespace and name of a submission."""

    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Path in the API."""
        return f"/v1/submissions/{quote(self.namespace, safe='')}/{quote(self.name, safe='')}"


def find_name(text: str, namespace: str, endpoint: Endpoint) -> Name:
    """A name or key, or `namespace/name`; without a namespace it is looked for in all."""
    found = find_one(Connection(endpoint), Lookup(SUBMISSIONS, text, namespace))
    return Name(found["namespace"], found["name"])


def run_submit(file: Path, namespace: str, watch: bool, options: MutationOptions, endpoint: Endpoint) -> int:
    """Send it; with `watch`, the exit code shows whether it succeeded."""
    content = _read_file(file, namespace)
    metadata = {"namespace": content.namespace, **({"name": content.name} if content.name else {})}
    body = {"metadata": metadata, "spec": content.spec, **({"reason": options.reason} if options.reason else {})}
    made: Row = Connection(endpoint).request("POST", "/v1/submissions", body=body)
    if not watch or options.output in (Format.TABLE, Format.WIDE):
        _show(made, options.output, lambda: _print_phase(made))
    return run_follow(Name(made["namespace"], made["name"]), options.output, endpoint) if watch else OK


def run_dry(file: Path, namespace: str, output: Format) -> None:
    """Check it without a server, and print what would be created."""
    content = _read_file(file, namespace)
    spec = read_spec(content.spec)
    problems = [*check_submission(spec), *(check_submission_name(content.name) if content.name else ())]
    for problem in problems[1:]:
        print(printable(f"mooring: {problem}"), file=sys.stderr)
    if problems:
        raise problems[0]
    name, jobs = content.name or name_for(spec.key), [job_name(spec.key, step.name) for step in steps_of(spec)]
    would = {"namespace": content.namespace, "name": name, "key": spec.key, "dryRun": True, "jobs": jobs}
    _show(would, output, lambda: _print_jobs(would))


def run_follow(name: Name, output: Format, endpoint: Endpoint) -> int:
    """Follow it to its end; returns the exit code."""
    connection = Connection(endpoint)
    with progress_view() as view:
        found = _follow(name, connection, view)
    _show(found, output, lambda: print_submission(found))
    return _ENDED[found["status"]["phase"]]


def _follow(name: Name, connection: Connection, view: ProgressView) -> Row:
    """Reads it after the stream is open, so that no change is missed in between."""
    for _ in watch_changes(connection, frozenset({"submission"})):
        found: Row = connection.get(name.path)
        view.show(found)
        if found["status"]["phase"] in _ENDED:
            return found
    raise stream_ended()


def run_show(name: Name, output: Format, endpoint: Endpoint) -> int:
    """Print one submission in full."""
    found: Row = Connection(endpoint).get(name.path)
    _show(found, output, lambda: print_submission(found))
    return FAILED if _ENDED.get(found["status"]["phase"], OK) else OK


def run_logs(name: Name, step: str, lines: int, endpoint: Endpoint) -> int:
    """Print the last log lines of a step."""
    found = Connection(endpoint).get(f"{name.path}/logs", {"step": step, "lines": str(lines)})
    print(printable(f"{found['pod']}:"), file=sys.stderr)
    for line in found["lines"]:
        print_line(line)
    return OK


def run_cancel(name: Name, finalize: bool, options: MutationOptions, endpoint: Endpoint) -> int:
    """Cancel it."""
    connection = Connection(endpoint)
    found: Row = connection.get(name.path)
    shown, jobs, phase = _full_name(found), found["status"]["jobs"], found["status"]["phase"]
    if phase in ("Succeeded", "Failed"):
        raise Conflict(f"{shown} has {phase.lower()} already", fix="'mooring submissions' shows what still runs")
    outcome = "its finalizer runs, unless a gate has failed" if finalize else "running Jobs are deleted"
    body = {"reason": options.reason, "finalize": finalize}
    mutation = Mutation(
        kind="Submission",
        name=shown,
        before=found,
        impact=(
            f"{shown}, {phase or 'Pending'}: {jobs['active']} active Job(s) of {jobs['total']} are deleted with their"
            f" pods, {jobs['succeeded']} succeeded; its finalizer {'still runs' if finalize else 'does not run'}",
        ),
        apply=lambda: connection.request("POST", f"{name.path}/cancel", body=body),
        describe=lambda _: f"{shown} is being cancelled: {outcome}",
        needs_confirmation=True,
    )
    run_mutation(mutation, options)
    return OK


def _show(found: Row, output: Format, print_text: Callable[[], None]) -> None:
    show_one("Submission", found, output, _full_name(found), print_text)


def _full_name(found: Row) -> str:
    return f"submission/{found['namespace']}/{found['name']}"


def _print_phase(found: Row) -> None:
    print_line(f"{_full_name(found)} {found['status']['phase']}: {found['status']['message']}")


def _print_jobs(would: Row) -> None:
    print_line(f"{_full_name(would)} would be created (dry run), with the Jobs")
    for job in would["jobs"]:
        print_line(f"  {job}")


@dataclass(frozen=True, slots=True)
class _SubmissionFile:
    """Content of a file."""

    namespace: str
    name: str
    spec: dict[str, Any]


def _read_file(file: Path, namespace: str) -> _SubmissionFile:
    """A whole object, or only its spec."""
    body = read_manifest(file, "Submission")
    metadata = body.get("metadata") or {}
    spec = body["spec"] if isinstance(body.get("spec"), dict) else body
    target = namespace or metadata.get("namespace") or spec.get("namespace") or DEFAULT_NAMESPACE
    spec = {key: value for key, value in spec.items() if key != "namespace"}
    return _SubmissionFile(str(target), str(metadata.get("name") or ""), spec)
