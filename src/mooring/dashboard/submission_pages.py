"""The routes of the page of submissions, and what can be asked for there."""

from typing import Any

from litestar import Request, Response, get, post
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler

from mooring.api.readmodels import SubmissionDesk, SubmissionDetail, SubmissionReadSide
from mooring.dashboard.actions import ACTOR, Form
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.submission_views import PHASES, read_submissions
from mooring.dashboard.views import Selection
from mooring.model.submission import Cancel


@get("/submissions", include_in_schema=False, sync_to_thread=False)
def submissions_page(submissions: SubmissionReadSide, selection: Selection) -> Response[str]:
    """What runs, how far it is, what it waits for, and why it failed."""
    page = read_submissions(submissions, selection)
    return page_response("submissions.html", page=page, phases=PHASES, selection=selection, here="submissions")


@get(["/submissions.json", "/submissions.csv"], include_in_schema=False, sync_to_thread=False)
def submissions_twin(
    submissions: SubmissionReadSide, selection: Selection, request: Request[Any, Any, Any]
) -> Response[Any]:
    """The rows of the page."""
    rows = [card.submission for card in read_submissions(submissions, selection).cards]
    return twin_response(request, SubmissionDetail, rows)


@post("/actions/submissions/{namespace:str}/{name:str}/cancel", include_in_schema=False)
async def cancel(namespace: str, name: str, submission_desk: SubmissionDesk, data: Form) -> Redirect:
    """Stop it, and let its finalizer run."""
    reason = data.reason or "asked for on the dashboard"
    await submission_desk.cancel(namespace, name, Cancel(ACTOR, reason, finalize=True))
    return Redirect("/submissions", status_code=303)


SUBMISSION_PAGES: list[ControllerRouterHandler] = [submissions_page, submissions_twin, cancel]
