"""Pages of one warmup, submission or service: its card, its timeline, what was done to it, and its log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from litestar import Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_SERVICE, READ_SUBMISSION, READ_WARMUP
from mooring.dashboard.log_pages import LogPart, offered_log
from mooring.dashboard.reader import GivenReader, Reader
from mooring.dashboard.responses import GivenReadings, PageResponse
from mooring.dashboard.service_views import read_services
from mooring.dashboard.submission_views import read_submissions
from mooring.dashboard.timelines import Lane, Mark, Span, Timeline, draw_timeline
from mooring.dashboard.views import Selection
from mooring.dashboard.warmup_views import read_warmups
from mooring.ledger.records import AuditFilter
from mooring.model.errors import MooringError
from mooring.model.why import Condition
from mooring.queries.audit import AuditReading, read_audit
from mooring.queries.pods import EventReading, LogRequest
from mooring.queries.readings import Readings

ACTS = 50
_BAD = ("Failed", "Refused", "Stale")


class Record(msgspec.Struct, frozen=True):
    """What happened to one object."""

    timeline: Timeline | None
    acts: Sequence[AuditReading]
    events: Sequence[EventReading]
    log: LogPart | None


class _Subject(msgspec.Struct, frozen=True):
    kind: str
    namespace: str
    name: str
    created_at: datetime | None
    phase: str
    since: datetime | None
    conditions: Sequence[Condition]
    job: str = ""  # whose log is asked for
    pod: str = ""


async def _read_record(readings: Readings, reader: Reader, about: _Subject) -> Record:
    which = AuditFilter(kind=about.kind, namespace=about.namespace, name=about.name)
    try:
        acts = (await read_audit(readings.fleet, which, ACTS, None)).items
        events = await readings.pods.events(
            about.namespace, lambda kind, name: (kind, name) == (about.kind, about.name)
        )
    except MooringError:
        acts, events = [], []
    log = None
    if about.job:
        log = await offered_log(readings.pods, reader, LogRequest(about.namespace, about.job), "job")
    elif about.pod:
        log = await offered_log(readings.pods, reader, LogRequest(about.namespace, about.pod))
    return Record(draw_object(about, acts, events, readings.inspection.clock.now()), acts, events, log)


def draw_object(
    about: _Subject, acts: Sequence[AuditReading], events: Sequence[EventReading], now: datetime
) -> Timeline | None:
    """Its phase, its conditions, acts on it and events about it."""
    spans = []
    if about.created_at and about.since and about.since > about.created_at:
        spans.append(Span("waiting", about.created_at, about.since, "before"))
    begun = about.since or about.created_at
    if begun:
        spans.append(Span("failed" if about.phase in _BAD else "done", begun, None, about.phase))
    lanes = [Lane("Phase", tuple(spans))]
    for condition in about.conditions:
        if condition.since is not None:
            kind = "ok" if condition.status == "True" else "bad"
            text = f"{condition.type} {condition.status}: {condition.message}"
            lanes.append(Lane(condition.type, marks=(Mark(kind, condition.since, text),)))
    lanes.append(Lane("Acts", marks=tuple(Mark("act", act.at, f"{act.action} by {act.actor}") for act in acts)))
    seen = tuple(
        Mark("bad" if event.warning else "ok", event.at, f"{event.reason}: {event.message}")
        for event in events
        if event.at
    )
    return draw_timeline([*lanes, Lane("Events", marks=seen)], now)


def _page(kind: str, selection: Selection, page: Any, record: Record) -> PageResponse:
    values = {
        "page": page,
        "selection": selection,
        "record": record,
        "part": record.log,
        "subject": selection.subject,
        "kind": kind,
        "here": f"{kind}s",
    }
    return PageResponse("object.html", 200, values)


def _asked(selection: Selection, namespace: str, name: str) -> Selection:
    return msgspec.structs.replace(selection, subject=f"{namespace}/{name}")


@get("/warmups/{namespace:str}/{name:str}", page="warmup", access=READ_WARMUP, include_in_schema=False)
async def warmup_page(
    all_readings: GivenReadings, reader: GivenReader, selection: Selection, namespace: str, name: str, job: str = ""
) -> Response[str]:
    """A dataset with its shards; `job` is the shard whose log is shown."""
    one = all_readings.warmups.warmup(namespace, name)
    conditions, since = one.status.conditions, one.why.since
    about = _Subject("Warmup", namespace, name, one.created_at, one.status.phase, since, conditions, job)
    record = await _read_record(all_readings, reader, about)
    asked = _asked(selection, namespace, name)
    return _page("warmup", asked, read_warmups(all_readings.warmups, asked), record)


@get("/submissions/{namespace:str}/{name:str}", page="submission", access=READ_SUBMISSION, include_in_schema=False)
async def submission_page(
    all_readings: GivenReadings, reader: GivenReader, selection: Selection, namespace: str, name: str, job: str = ""
) -> Response[str]:
    """A submission with its steps; `job` is the step whose log is shown."""
    one = all_readings.submissions.submission(namespace, name)
    status = one.status
    about = _Subject(
        "Submission", namespace, one.name, one.created_at, status.phase, one.why.since, status.conditions, job
    )
    record = await _read_record(all_readings, reader, about)
    asked = _asked(selection, namespace, one.name)
    return _page("submission", asked, read_submissions(all_readings.submissions, asked), record)


@get("/services/{namespace:str}/{name:str}", page="service", access=READ_SERVICE, include_in_schema=False)
async def service_page(
    all_readings: GivenReadings, reader: GivenReader, selection: Selection, namespace: str, name: str, pod: str = ""
) -> Response[str]:
    """A service; `pod` is the one whose log is shown, by default its newest."""
    one = all_readings.services.service(namespace, name)
    pods = all_readings.services.pod_names(namespace, name)
    shown = pod if pod in pods else (pods[-1] if pods else "")
    about = _Subject(
        "ManagedService", namespace, name, None, one.status.phase, one.why.since, one.status.conditions, pod=shown
    )
    record = await _read_record(all_readings, reader, about)
    asked = _asked(selection, namespace, name)
    return _page("service", asked, read_services(all_readings.services, asked), record)


OBJECT_PAGES: list[ControllerRouterHandler] = [warmup_page, submission_page, service_page]
