"""Responses of pages and of their `.json` and `.csv` twins."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import MediaType, Request, Response

from mooring.dashboard.views import render

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


def page_response(template: str, *, status: int = 200, **values: object) -> Response[str]:
    """A whole page with its security headers."""
    return Response(render(template, **values), status_code=status, media_type=MediaType.HTML, headers=_HEADERS)


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
