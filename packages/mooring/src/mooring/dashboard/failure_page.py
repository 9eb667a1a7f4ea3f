"""The page that shows an error to a browser: what happened, what to do, and the way back."""

from litestar import Response

from mooring.api.errors import ErrorBody
from mooring.dashboard.responses import page_response
from mooring.dashboard.views import Selection

_TITLES = {
    400: "This request is not valid",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed here",
    409: "Not possible now",
    429: "Refused",
    503: "Not available",
}


def failure_page(error: ErrorBody, status: int) -> Response[str]:
    """The same content as the JSON that programs get, under the same status."""
    title = _TITLES.get(status, "Something failed" if status >= 500 else "Refused")
    return page_response(
        "failure.html", status=status, title=title, error=error, number=status, selection=Selection(), here="failure"
    )
