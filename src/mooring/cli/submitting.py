"""The bodies of `submit` and `submissions NAME`: send, follow, show, logs, cancel."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mooring.cli.changes import Change, Manner, acting_user, carry_out
from mooring.cli.failures import FAILED, OK
from mooring.cli.listings import reasons_to_look
from mooring.cli.output import Format, Row, printable, show_one
from mooring.cli.submission_view import Follower, follower, print_submission
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import Unreachable
from mooring.model.errors import Conflict, InvalidInput, Misconfigured
from mooring.model.submission import job_name, name_for, read_spec, steps_of
from mooring.model.submission_checks import check_submission

DEFAULT_NAMESPACE = "default"
_ENDED = {"Succeeded": OK, "Failed": FAILED, "Refused": FAILED}


@dataclass(frozen=True, slots=True)
class Name:
    """Which submission."""

    namespace: str
    name: str

    @property
    def path(self) -> str:
        return f"/v1/submissions/{quote(self.namespace, safe='')}/{quote(self.name, safe='')}"


def find_name(text: str, namespace: str) -> Name:
    """`name`, or `namespace/name`; a key may hold slashes itself when the namespace is given."""
    if namespace:
        return Name(namespace, text)
    before, slash, after = text.partition("/")
    return Name(before, after) if slash else Name(DEFAULT_NAMESPACE, text)


def run_submit(file: Path, namespace: str, watch: bool, manner: Manner, endpoint: Endpoint) -> int:
    """Send it; with `watch` the exit code tells how it ended."""
    order = _read_file(file, namespace)
    body = {"namespace": order.namespace, **order.spec, **({"reason": manner.reason} if manner.reason else {})}
    made: Row = Connection(endpoint).request("POST", "/v1/submissions", body=body)
    _tell_naming(order.name, made["name"])
    if not watch or manner.form in (Format.TABLE, Format.WIDE):
        _show(made, manner.form, lambda: _tell_phase(made))
    return run_follow(Name(made["namespace"], made["name"]), manner.form, endpoint) if watch else OK


def run_dry(file: Path, namespace: str, form: Format) -> None:
    """Check it here, and say what would be made."""
    order = _read_file(file, namespace)
    spec = read_spec(order.spec)
    problems = check_submission(spec)
    for problem in problems[1:]:
        print(printable(f"mooring: {problem}"), file=sys.stderr)
    if problems:
        raise problems[0]
    name, jobs = name_for(spec.key), [job_name(spec.key, step.name) for step in steps_of(spec)]
    _tell_naming(order.name, name)
    would = {"namespace": order.namespace, "name": name, "key": spec.key, "dryRun": True, "jobs": jobs}
    _show(would, form, lambda: _tell_jobs(would))


def run_follow(name: Name, form: Format, endpoint: Endpoint) -> int:
    """Until it has ended."""
    connection = Connection(endpoint)
    with follower() as view:
        found = _follow(name, connection, view)
    _show(found, form, lambda: print_submission(found))
    return _ENDED[found["status"]["phase"]]


def _follow(name: Name, connection: Connection, view: Follower) -> Row:
    """Listens before it looks, so that nothing changes unseen in between."""
    for _ in reasons_to_look(connection, frozenset({"submission"})):
        found: Row = connection.get(name.path)
        view.show(found)
        if found["status"]["phase"] in _ENDED:
            return found
    raise Unreachable("the stream of changes ended", fix="is Mooring still running? watch again")


def run_show(name: Name, form: Format, endpoint: Endpoint) -> int:
    """One submission, in full."""
    found: Row = Connection(endpoint).get(name.path)
    _show(found, form, lambda: print_submission(found))
    return FAILED if _ENDED.get(found["status"]["phase"], OK) else OK


def run_logs(name: Name, step: str, lines: int, endpoint: Endpoint) -> int:
    """The last lines of a step, as data."""
    found = Connection(endpoint).get(f"{name.path}/logs", {"step": step, "lines": str(lines)})
    print(printable(f"{found['pod']}:"), file=sys.stderr)
    for line in found["lines"]:
        print(printable(line))
    return OK


def run_cancel(name: Name, finalize: bool, manner: Manner, endpoint: Endpoint) -> int:
    """Ask for the end."""
    connection = Connection(endpoint)
    found: Row = connection.get(name.path)
    shown, jobs, phase = _full_name(found), found["status"]["jobs"], found["status"]["phase"]
    if phase in ("Succeeded", "Failed"):
        raise Conflict(f"{shown} has {phase.lower()} already", fix="'mooring submissions' shows what still runs")
    what = "its finalizer runs" if finalize else "what runs is deleted"
    body = {"reason": manner.reason, "actor": acting_user(), "finalize": finalize}
    change = Change(
        kind="Submission",
        name=shown,
        before=found,
        impact=(
            f"{shown}, {phase or 'Pending'}: {jobs['active']} active Job(s) of {jobs['total']} are deleted with their"
            f" pods, {jobs['succeeded']} succeeded; its finalizer {'still runs' if finalize else 'does not run'}",
        ),
        act=lambda: connection.request("POST", f"{name.path}/cancel", body=body),
        told=lambda _: f"{shown} is being cancelled: {what}",
        takes_away=True,
    )
    carry_out(change, manner)
    return OK


def _show(found: Row, form: Format, tell: Callable[[], None]) -> None:
    show_one("Submission", found, form, _full_name(found), tell)


def _full_name(found: Row) -> str:
    return f"submission/{found['namespace']}/{found['name']}"


def _tell_phase(found: Row) -> None:
    print(printable(f"{_full_name(found)} {found['status']['phase']}: {found['status']['message']}"))


def _tell_jobs(would: Row) -> None:
    print(printable(f"{_full_name(would)} would be made (dry run), with the Jobs"))
    for job in would["jobs"]:
        print(printable(f"  {job}"))


def _tell_naming(wanted: str, given: str) -> None:
    """Two submits of one key must meet in one object: its name comes from the key."""
    if wanted and wanted != given:
        told = f"metadata.name {wanted!r} is not used: the name comes from spec.key, it is {given!r}"
        print(printable(f"mooring: {told}"), file=sys.stderr)


@dataclass(frozen=True, slots=True)
class _Order:
    """What a file asks for."""

    namespace: str
    name: str
    spec: dict[str, Any]


def _read_file(file: Path, namespace: str) -> _Order:
    """A whole object, or its spec alone."""
    import yaml

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        body = yaml.safe_load(text)
    except OSError as error:
        raise Misconfigured(f"{file}: {error.strerror}", fix="give the path of a file, or - for stdin") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), "...", f"readable as YAML or JSON ({error})") from error
    if not isinstance(body, dict):
        raise InvalidInput(str(file), body, "a Submission, or its spec")
    if body.get("kind") not in (None, "Submission"):
        raise InvalidInput(f"{file}: kind", body["kind"], "Submission")
    metadata = body.get("metadata") or {}
    spec = body["spec"] if isinstance(body.get("spec"), dict) else body
    target = namespace or metadata.get("namespace") or spec.get("namespace") or DEFAULT_NAMESPACE
    spec = {key: value for key, value in spec.items() if key != "namespace"}
    return _Order(str(target), str(metadata.get("name") or ""), spec)
