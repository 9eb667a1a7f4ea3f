"""Responses of pages and of their `.json` and `.csv` twins."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response
from litestar.params import SkipValidation
from litestar.response.base import ASGIResponse

from mooring.api.access.sessions import COOKIE
from mooring.dashboard.reader import menu_of, overview_of, reader_of, toast_of
from mooring.dashboard.views import render
from mooring.model.identity import LOCAL_READER
from mooring.queries.readings import Readings

GivenReadings = SkipValidation[Readings]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CSP,
    "Referrer-Policy": "same-origin",  # with no-referrer our own forms would have the Origin "null"
    "Cache-Control": "no-store",
}
_CSV_CELLS = {"=", "+", "-", "@", "\t", "\r"}  # a spreadsheet would execute these as formulas


class PageResponse(Response[str]):
    """A page with its security headers. It is rendered with the request, because the header shows who reads it."""

    def __init__(self, template: str, status: int, values: dict[str, object]) -> None:
        super().__init__("", status_code=status, media_type=MediaType.HTML, headers=_HEADERS)
        self._template = template
        self._values = values

    def to_asgi_response(self, app: Litestar | None, request: Request[Any, Any, Any], **options: Any) -> ASGIResponse:
        values = {
            "logged_in": _is_logged_in(request),
            "path": _path(request),
            "strip": overview_of(request),
            "toast": toast_of(request),
            "menu": menu_of(request),
            "may": reader_of(request).may,
            **self._values,
        }
        self.content = render(self._template, **values)
        return super().to_asgi_response(app, request, **options)


def _is_logged_in(request: Request[Any, Any, Any]) -> bool:
    """Whether there is a session to end. Open pages are read without one."""
    return COOKIE in request.cookies and request.scope.get("user") not in (None, LOCAL_READER)


def _path(request: Request[Any, Any, Any]) -> str:
    """Where a login leads back to."""
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def page_response(template: str, *, status: int = 200, **values: object) -> Response[str]:
    """A whole page."""
    return PageResponse(template, status, values)


def twin_response(
    request: Request[Any, Any, Any], kind: type[msgspec.Struct], items: Sequence[msgspec.Struct]
) -> Response[Any]:
    """The rows of a page in the format of its path's suffix."""
    rows = [msgspec.to_builtins(item) for item in items]
    if request.url.path.endswith(".json"):
        return Response({"items": rows})
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=[field.encode_name for field in msgspec.structs.fields(kind)])
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return Response(text.getvalue(), media_type="text/csv")


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
    return f"'{text}" if text[:1] in _CSV_CELLS else text
