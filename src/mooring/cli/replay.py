"""`mooring replay`: each incident without and with protection, and whether that shows what it has to show."""

import json
import logging
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from mooring.cli.failures import FAILED
from mooring.cli.output import Column, Format, Row, show
from mooring.cli.replay_view import choose_view
from mooring.incidents.catalogue import EVERY, INCIDENTS, find_incidents
from mooring.incidents.incident import Figure, Incident
from mooring.incidents.running import Outcome, run_replay
from mooring.model.errors import InvalidInput

KUBERNETES = "kubernetes"
FORMATS = (Format.TABLE, Format.JSON)
_LIST = (
    Column("NAME", lambda row: row["name"]),
    Column("TITLE", lambda row: row["title"]),
    Column("PROTECTED BY", lambda row: ", ".join(row["protections"])),
)
_FIGURES = (
    Column("FIGURE", lambda row: row["figure"]),
    Column("WITHOUT", lambda row: row["without"]),
    Column("WITH", lambda row: row["with"]),
)


@dataclass(frozen=True, slots=True)
class ReplayCommand:
    """What was asked for."""

    name: str
    without_protection: bool
    cluster: str
    seed: int
    output: Format


def run_replays(command: ReplayCommand) -> None:
    """Run and show; exit 1 when a protection failed, or a replay proved nothing."""
    _check(command)
    if not command.name:
        _show_list(command.output)
        return
    incidents = _choose(command)
    # The control plane's own log lines are the noise of an outage on purpose.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with choose_view(lines=command.output is Format.TABLE) as view:
        outcomes = [
            run_replay(
                incident,
                only_unprotected=command.without_protection,
                seed=command.seed,
                seat=view.seat,
                real=command.cluster == KUBERNETES,
            )
            for incident in incidents
        ]
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


def _choose(command: ReplayCommand) -> Sequence[Incident]:
    """Hours of graces pass in seconds of virtual time; on a real control plane only some replays can hurry them."""
    incidents = find_incidents(command.name)
    if command.cluster != KUBERNETES:
        return incidents
    able = [incident for incident in incidents if incident.hurry is not None]
    if not able or (command.name != EVERY and len(able) < len(incidents)):
        named = ", ".join(incident.name for incident in incidents)
        raise InvalidInput("--cluster", command.cluster, f"sandbox: {named} is sandbox only, as it needs virtual time")
    return able


def _show_list(form: Format) -> None:
    rows: list[Row] = [
        {"name": each.name, "title": each.title, "story": each.story, "protections": list(each.protections)}
        for each in INCIDENTS
    ]
    if form is Format.JSON:
        print(json.dumps(rows, indent=2))
    else:
        show("ReplayList", rows, _LIST, form, lambda row: str(row["name"]))


def _show_outcomes(outcomes: Sequence[Outcome], incidents: Sequence[Incident], form: Format) -> None:
    if form is Format.JSON:
        print(json.dumps([outcome.as_dict() for outcome in outcomes], indent=2))
        return
    for outcome, incident in zip(outcomes, incidents, strict=True):
        print(f"{incident.name}: {incident.title}")
        show("Figures", _rows(outcome), _FIGURES, form, lambda row: str(row["figure"]))
        if not outcome.failure and outcome.protected is not None:
            print("the outage happens without protection, and does not happen with it")


def _rows(outcome: Outcome) -> list[Row]:
    without = outcome.unprotected.as_dict()
    protected = outcome.protected.as_dict() if outcome.protected is not None else {}
    return [
        {"figure": _in_words(name), "without": _shown(without.get(name)), "with": _shown(protected.get(name))}
        for name in {**without, **protected}
    ]


def _in_words(name: str) -> str:
    """`healedAfterSeconds` as `healed after seconds`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name).lower()


def _shown(value: Figure) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
    return str(value)
