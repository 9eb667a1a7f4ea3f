"""`mooring replay`: run each incident without and with protection, and check that the protection prevents it."""

import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import structlog

from mooring.cli.failures import FAILED
from mooring.cli.launch.replay_view import choose_view
from mooring.cli.output import Column, Format, Row, show_list, show_table
from mooring.incidents.catalogue import EVERY, INCIDENTS, find_incidents
from mooring.incidents.incident import Incident
from mooring.incidents.recording import Recorder, make_recording
from mooring.incidents.replay import Outcome, run_replay
from mooring.incidents.stage import Audience
from mooring.incidents.table import compute_rows
from mooring.model.errors import InvalidInput

KUBERNETES = "kubernetes"
FORMATS = (Format.TABLE, Format.JSON)
_LIST = (
    Column("NAME", lambda row: row["name"]),
    Column("TITLE", lambda row: row["title"], text=True),
    Column("PROTECTED BY", lambda row: ", ".join(row["protections"]), text=True),
)
_FIGURES = (
    Column("FIGURE", lambda row: row["figure"], text=True),
    Column("WITHOUT", lambda row: row["without"]),
    Column("WITH", lambda row: row["protected"]),
)


@dataclass(frozen=True, slots=True)
class ReplayCommand:
    """The arguments of `replay`."""

    name: str
    without_protection: bool
    cluster: str
    seed: int
    output: Format
    record: Path | None  # the file for what the page of the replay plays


def run_replays(command: ReplayCommand) -> None:
    """Run and print; exits with 1 when a protection failed, or when the outage did not happen without it."""
    _check(command)
    if not command.name:
        _show_list(command.output)
        return
    incidents = _choose(command)
    # The control plane logs the outage that the replay causes on purpose.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with choose_view(lines=command.output is Format.TABLE) as view:
        recorders: dict[bool, Recorder] = {}

        def seat(incident: Incident, protected: bool) -> Audience:
            audience = view.seat(incident, protected)
            if command.record is None:
                return audience
            recorders[protected] = Recorder(audience)
            return recorders[protected]

        outcomes = [
            run_replay(
                incident,
                only_unprotected=command.without_protection,
                seed=command.seed,
                seat=seat,
                real=command.cluster == KUBERNETES,
            )
            for incident in incidents
        ]
    if command.record is not None:
        recording = make_recording(incidents[0], outcomes[0], recorders[False], recorders[True])
        command.record.write_bytes(msgspec.json.encode(recording))
    _show_outcomes(outcomes, incidents, command.output)
    failures = [f"{outcome.incident}: {outcome.failure}" for outcome in outcomes if outcome.failure]
    for failure in failures:
        print(f"mooring: replay_failed: {failure}", file=sys.stderr)
    if failures:
        sys.exit(FAILED)


def _check(command: ReplayCommand) -> None:
    if command.output not in FORMATS:
        raise InvalidInput("--output", command.output.value, " or ".join(FORMATS))
    if command.cluster not in ("sandbox", KUBERNETES):
        raise InvalidInput("--cluster", command.cluster, "sandbox or kubernetes")
    if command.record is not None and (command.without_protection or command.name in ("", EVERY)):
        raise InvalidInput("--record", str(command.record), "a file for both halves of one replay, which is named")


def _choose(command: ReplayCommand) -> Sequence[Incident]:
    """All of them in virtual time. On a real control plane, only those that can shorten their grace periods."""
    incidents = find_incidents(command.name)
    if command.cluster != KUBERNETES:
        return incidents
    able = [incident for incident in incidents if incident.hurry is not None]
    if not able or (command.name != EVERY and len(able) < len(incidents)):
        named = ", ".join(incident.name for incident in incidents)
        raise InvalidInput("--cluster", command.cluster, f"sandbox: {named} is sandbox only, as it needs virtual time")
    return able


def _show_list(output: Format) -> None:
    rows: list[Row] = [
        {"name": each.name, "title": each.title, "story": each.story, "protections": list(each.protections)}
        for each in INCIDENTS
    ]
    if output is Format.JSON:
        print(json.dumps(rows, indent=2))
    else:
        show_list("ReplayList", rows, _LIST, output, lambda row: str(row["name"]))


def _show_outcomes(outcomes: Sequence[Outcome], incidents: Sequence[Incident], output: Format) -> None:
    if output is Format.JSON:
        print(json.dumps([outcome.as_dict() for outcome in outcomes], indent=2))
        return
    for outcome, incident in zip(outcomes, incidents, strict=True):
        print(f"{incident.name}: {incident.title}")
        show_table([asdict(row) for row in compute_rows(outcome)], _FIGURES)
        if not outcome.failure and outcome.protected is not None:
            print("the outage happens without protection, and does not happen with it")
