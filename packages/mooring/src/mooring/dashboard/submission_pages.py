"""Routes of the submissions page and its actions."""

from typing import Any

from litestar import Response, get, post
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import CANCEL_SUBMISSION, SEE_SUBMISSIONS
from mooring.api.dependencies import GivenClock
from mooring.dashboard.actions import NO_REASON, AnyRequest, Form, ask
from mooring.dashboard.commands import SubmissionCommands
from mooring.dashboard.dialogs import cancel_dialog
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.submission_views import PHASES, read_submissions
from mooring.dashboard.toasts import done
from mooring.dashboard.views import Selection
from mooring.ledger.records import AuditFilter
from mooring.model.identity import actor_of
from mooring.model.submission import Cancel
from mooring.queries.fleet import FleetQueries
from mooring.queries.submissions import SubmissionDetail, SubmissionQueries


@get("/submissions", page="submissions", access=SEE_SUBMISSIONS, include_in_schema=False, sync_to_thread=False)
def submissions_page(submissions: SubmissionQueries, selection: Selection) -> Response[str]:
    """The submissions with progress, what they wait for, and why they failed."""
    page = read_submissions(submissions, selection)
    return page_response("submissions.html", page=page, phases=PHASES, selection=selection, here="submissions")


@get(["/submissions.json", "/submissions.csv"], access=SEE_SUBMISSIONS, include_in_schema=False, sync_to_thread=False)
def submissions_twin(submissions: SubmissionQueries, selection: Selection, request: AnyRequest) -> Response[Any]:
    """The rows of the page."""
    rows = [card.submission for card in read_submissions(submissions, selection).cards]
    return twin_response(request, SubmissionDetail, rows)


@get(
    "/actions/submissions/{namespace:str}/{name:str}/cancel",
    page="dialog",
    access=CANCEL_SUBMISSION,
    include_in_schema=False,
)
async def ask_cancel(request: AnyRequest, namespace: str, name: str, submissions: SubmissionQueries) -> Response[str]:
    """What a cancel deletes."""
    return ask(request, cancel_dialog(submissions.submission(namespace, name)))


@post("/actions/submissions/{namespace:str}/{name:str}/cancel", access=CANCEL_SUBMISSION, include_in_schema=False)
async def cancel(
    request: AnyRequest,
    namespace: str,
    name: str,
    submission_commands: SubmissionCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Form,
) -> Redirect:
    """Cancel a submission, with its finalizer."""
    reason = data.reason or NO_REASON
    await submission_commands.cancel(namespace, name, Cancel(actor_of(request.user), reason, finalize=True))
    which = AuditFilter(kind="Submission", namespace=namespace, name=name)
    return await done(reading, f"/submissions/{namespace}/{name}", which, clock.now())


SUBMISSION_PAGES: list[ControllerRouterHandler] = [submissions_page, submissions_twin, ask_cancel, cancel]
