"""The bodies of `submit` and `submissions NAME`: send, follow, show, logs, cancel."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mooring.cli.failures import FAILED, OK
from mooring.cli.listings import reasons_to_look
from mooring.cli.output import API_VERSION, Format, Row, printable
from mooring.cli.submission_view import Follower, follower, print_submission
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import Unreachable
from mooring.model.errors import InvalidInput, Misconfigured
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


def run_submit(file: Path, namespace: str, watch: bool, endpoint: Endpoint) -> int:
    """Send it; with `watch` the exit code tells how it ended."""
    target, spec = _read_file(file, namespace)
    made = Connection(endpoint).request("POST", "/v1/submissions", body={"namespace": target, **spec})
    status = made["status"]
    print(printable(f"submission/{made['namespace']}/{made['name']} {status['phase']}: {status['message']}"))
    return run_follow(Name(made["namespace"], made["name"]), endpoint) if watch else OK


def run_dry(file: Path, namespace: str) -> None:
    """Check it here, and say what would be made."""
    target, raw = _read_file(file, namespace)
    spec = read_spec(raw)
    problems = check_submission(spec)
    for problem in problems[1:]:
        print(printable(f"mooring: {problem}"), file=sys.stderr)
    if problems:
        raise problems[0]
    print(printable(f"submission/{target}/{name_for(spec.key)} would be made (dry run), with the Jobs"))
    for step in steps_of(spec):
        print(printable(f"  {job_name(spec.key, step.name)}"))


def run_follow(name: Name, endpoint: Endpoint) -> int:
    """Until it has ended."""
    connection = Connection(endpoint)
    with follower() as view:
        found = _follow(name, connection, view)
    print_submission(found)
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
    match form:
        case Format.JSON | Format.NDJSON:
            whole = {"apiVersion": API_VERSION, "kind": "Submission", **found}
            print(json.dumps(whole, indent=2 if form is Format.JSON else None))
        case Format.YAML:
            import yaml

            print(yaml.safe_dump({"apiVersion": API_VERSION, "kind": "Submission", **found}, sort_keys=False), end="")
        case Format.NAME:
            print(f"submission/{found['namespace']}/{found['name']}")
        case _:
            print_submission(found)
    return FAILED if _ENDED.get(found["status"]["phase"], OK) else OK


def run_logs(name: Name, step: str, lines: int, endpoint: Endpoint) -> int:
    """The last lines of a step, as data."""
    found = Connection(endpoint).get(f"{name.path}/logs", {"step": step, "lines": str(lines)})
    print(printable(f"{found['pod']}:"), file=sys.stderr)
    for line in found["lines"]:
        print(printable(line))
    return OK


def run_cancel(name: Name, finalize: bool, reason: str, endpoint: Endpoint) -> int:
    """Ask for the end."""
    body = {"reason": reason, "actor": "terminal", "finalize": finalize}
    found = Connection(endpoint).request("POST", f"{name.path}/cancel", body=body)
    what = "its finalizer runs" if finalize else "what runs is deleted"
    print(printable(f"submission/{found['namespace']}/{found['name']} is being cancelled: {what}"))
    return OK


def _read_file(file: Path, namespace: str) -> tuple[str, dict[str, Any]]:
    """The namespace, and the spec: of a whole object, or alone."""
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
    return str(target), {key: value for key, value in spec.items() if key != "namespace"}
