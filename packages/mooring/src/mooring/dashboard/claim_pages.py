"""The page of one claim: its way through queue, worker and end, and what was done to it."""

from datetime import datetime
from typing import Any

from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_CLAIM
from mooring.api.access.claims import ClaimAccess
from mooring.dashboard.log_pages import offered_log
from mooring.dashboard.reader import GivenReader, Reader
from mooring.dashboard.responses import GivenReadings, PageResponse
from mooring.dashboard.timelines import Lane, Mark, Span, Timeline, draw_timeline
from mooring.dashboard.views import Fragments, Selection, render
from mooring.model.errors import NotFound
from mooring.queries.claim_detail import ClaimDetail, read_claim_detail
from mooring.queries.pods import LogRequest
from mooring.queries.readings import Readings

PART = "claim"
_ENDED_WELL = "released"


def draw_claim(detail: ClaimDetail, now: datetime) -> Timeline | None:
    """Waiting, handing over, running, protection, and acts."""
    claim = detail.claim
    end = claim.ended_at
    steps = [Span("queued", claim.created_at, claim.claimed_at or end, "waits in the queue")]
    if claim.claimed_at:
        steps.append(
            Span("claimed", claim.claimed_at, claim.running_at or end, "worker claimed, session not running yet")
        )
    if claim.running_at:
        steps.append(Span("running", claim.running_at, end, f"session of {claim.owner} runs"))
    ended = (Mark("ok" if claim.state == _ENDED_WELL else "bad", end, f"{claim.state}: {claim.reason}"),) if end else ()
    beat = (Mark("ok", claim.heartbeat_at, "last heartbeat"),) if claim.heartbeat_at else ()
    protection: tuple[Span, ...] = ()
    if claim.protected_until and claim.claimed_at:
        protection = (Span("protected", claim.claimed_at, end or min(claim.protected_until, now), "protected"),)
    acts = tuple(Mark("act", act.at, f"{act.action} by {act.actor}: {act.reason}") for act in detail.acts)
    lanes = [
        Lane("Claim", tuple(steps), ended),
        Lane("Protection", protection),
        Lane("Heartbeat", marks=beat),
        Lane("Acts", marks=acts),
    ]
    return draw_timeline(lanes, now)


async def claim_fragments(readings: Readings, selection: Selection, reader: Reader) -> Fragments:
    """The live part of the page. Its subject is `namespace/pool/id`, and nothing of another pool is shown."""
    namespace, pool, claim_id = selection.subject.split("/", 2)
    try:
        detail = await read_claim_detail(readings.fleet, claim_id)
        if (detail.claim.namespace, detail.claim.pool) != (namespace, pool):
            raise NotFound(f"there is no claim {claim_id!r} of {namespace}/{pool}")
    except NotFound:
        return {PART: render("_gone.html", part=PART, kind="claim", subject=claim_id, name=claim_id)}
    return {PART: render("_claim.html", **_values(detail, readings, reader))}


def _values(detail: ClaimDetail, readings: Readings, reader: Reader) -> dict[str, Any]:
    now = readings.inspection.clock.now()
    return {"detail": detail, "claim": detail.claim, "timeline": draw_claim(detail, now), "now": now, "may": reader.may}


@get("/claims/{claim_id:str}", page="claim", access=READ_CLAIM, include_in_schema=False)
async def claim_page(
    request: Request[Any, Any, Any],
    claim_access: ClaimAccess,
    all_readings: GivenReadings,
    reader: GivenReader,
    claim_id: str,
) -> Response[str]:
    """A claim by its id, or by a unique beginning of it."""
    found = await claim_access.find(request.user, claim_id)
    detail = await read_claim_detail(all_readings.fleet, found.id)
    log = None
    if detail.claim.worker is not None:
        log = await offered_log(all_readings.pods, reader, LogRequest(found.namespace, detail.claim.worker.name))
    subject = f"{found.namespace}/{found.pool}/{found.id}"
    values = {**_values(detail, all_readings, reader), "part": log}
    return PageResponse("claim.html", 200, values | {"subject": subject, "here": "claim", "section": "claims"})


CLAIM_PAGES: list[ControllerRouterHandler] = [claim_page]
