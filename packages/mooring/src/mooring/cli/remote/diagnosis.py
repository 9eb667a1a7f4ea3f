"""`mooring doctor` and `mooring explain`: the verdict first, then the evidence and the fix."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from mooring.cli.failures import FAILED, OK
from mooring.cli.output import Column, Format, Row, describe_time, print_line, show_list, show_one, show_table
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput
from mooring.model.runbook import check_section, runbook_command

_MARKS = {"ok": "green", "warn": "yellow", "fail": "bold red", "unknown": "bright_black"}
_EVENTS_SHOWN = 5
_LOG_LINES_SHOWN = 10

_CHECKS = (
    Column("STATUS", lambda row: row["status"], style=lambda row: _MARKS[row["status"]]),
    Column("CHECK", lambda row: row["id"]),
    Column("MESSAGE", lambda row: row["message"]),
    Column("FIX", lambda row: row["fix"]),
    Column("EVIDENCE", lambda row: json.dumps(row["evidence"]) if row["evidence"] else "", wide=True),
)


def run_doctor(endpoint: Endpoint, output: Format, *, everything: bool) -> int:
    """Print the checks; returns the exit code."""
    checkup = Connection(endpoint).get("/v1/doctor")
    checks = checkup["checks"]
    match output:
        case Format.NDJSON | Format.NAME:
            show_list("CheckList", checks, _CHECKS, output, lambda row: str(row["id"]))
        case _:
            shown = checks if everything else [check for check in checks if check["status"] != "ok"]
            show_one("DoctorReport", checkup, output, "", lambda: _print_checks(checkup, shown, output))
    return FAILED if any(check["status"] == "fail" for check in checks) else OK


def _print_checks(checkup: Row, shown: Sequence[Row], output: Format) -> None:
    if output is Format.WIDE and shown:
        show_table(shown, _CHECKS, wide=True)
    else:
        for check in shown:
            _line(f"{check['status']:7}  {check['id']}: {check['message']}")
            if check["fix"]:
                _line(f"{'':7}  fix: {check['fix']}")
    for section in dict.fromkeys(check_section(check["id"]) for check in shown if check["status"] != "ok"):
        print_line(f"runbook: {runbook_command(section)}")
    checks = checkup["checks"]
    counts = {status: sum(check["status"] == status for check in checks) for status in _MARKS}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    print(f"{len(checks)} checks in {checkup['seconds']} s: {summary}")


def run_explain(endpoint: Endpoint, pod: str, namespace: str, output: Format) -> None:
    """Print why a pod runs or does not run."""
    kind, _, name = pod.partition("/")
    if kind not in ("pod", "pods", "po") or not name:
        raise InvalidInput("pod", pod, "pod/NAME or pod/NAMESPACE/NAME")
    if "/" in name:
        namespace, _, name = name.partition("/")
    path = f"/v1/explain/pods/{quote(namespace, safe='')}/{quote(name, safe='')}"
    found = Connection(endpoint).get(path)
    shown = f"pod/{found['namespace']}/{found['name']}"
    show_one("Explanation", found, output, shown, lambda: _print_explanation(found, wide=output is Format.WIDE))


def _print_explanation(found: dict[str, Any], *, wide: bool) -> None:
    where = f" on {found['node']}" if found["node"] else ""
    _line(f"pod {found['namespace']}/{found['name']} is {found['state']}{where}")
    _line(f"  {found['summary']}")
    if found["fix"]:
        _line(f"  fix: {found['fix']}")
    for finding in found["findings"][1:]:
        _line(f"  also: {finding['message']}" + (f" (fix: {finding['fix']})" if finding["fix"] else ""))
    if preflight := found["preflight"]:
        _line("")
        rows = preflight["verdicts"] if wide else preflight["groups"]
        columns = _VERDICTS if wide else _GROUPS
        if rows:
            show_table(rows, columns)
        for unknown in preflight["unknown"]:
            _line(f"not judged: {unknown}")
    if found["failure"]:
        _line(f"\nlast lines of {found['failure']['container']}:")
        for line in found["failure"]["logs"][-_LOG_LINES_SHOWN:]:
            _line(f"  {line}")
    if found["events"]:
        _line("\nevents, newest first:")
        for event in found["events"][:_EVENTS_SHOWN]:
            seen = describe_time(event["lastSeen"], wide=wide)
            _line(f"  {seen}  {event['source'] or '-'}  {event['reason']}: {event['message']}")
    for unread in found["unread"]:
        _line(f"not read: {unread}")


def _line(text: str) -> None:
    for part in text.split("\n"):
        print_line(part)


_GROUPS = (
    Column("NODES", lambda row: row["nodes"]),
    Column("KEPT OFF BECAUSE", lambda row: row["reason"], text=True),
    Column("SUCH AS", lambda row: ", ".join(row["examples"][:3])),
)
_VERDICTS = (
    Column("NODE", lambda row: row["node"]),
    Column("VERDICT", lambda row: "fits" if not row["reasons"] else "no"),
    Column("BECAUSE", lambda row: "; ".join(row["reasons"]), text=True),
)
