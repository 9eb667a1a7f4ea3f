"""The runbook on Mooring's own pages: what a message means and what to do, also where no other site can be reached."""

from litestar import Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import RUNBOOK
from mooring.dashboard.responses import page_response
from mooring.model.errors import NotFound
from mooring.model.runbook import PAGES
from mooring.runbook import read_page

TITLES = {
    "alerts": "Alerts",
    "invariants": "Invariants",
    "doctor": "Lines of the doctor",
    "errors": "Error codes",
}


@get("/runbook", access=RUNBOOK, include_in_schema=False, sync_to_thread=False)
def runbook_index() -> Response[str]:
    """All headings, by page."""
    pages = {page: read_page(page) for page in PAGES}
    return page_response("runbook.html", titles=TITLES, pages=pages, here="runbook")


@get("/runbook/{page:str}", access=RUNBOOK, include_in_schema=False, sync_to_thread=False)
def runbook_page(page: str) -> Response[str]:
    """The sections of one page."""
    if page not in PAGES:
        raise NotFound(f"the runbook has no page {page!r}", fix=f"pages that exist: {', '.join(PAGES)}")
    return page_response("runbook_page.html", titles=TITLES, page=page, sections=read_page(page), here="runbook")


RUNBOOK_PAGES: list[ControllerRouterHandler] = [runbook_index, runbook_page]
