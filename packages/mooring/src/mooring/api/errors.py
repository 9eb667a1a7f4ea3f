"""Error responses: `{code, message, detail}` with stable codes for programs, a page for browsers."""

import math
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
import structlog
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.response import Redirect

from mooring.api.metrics import REQUESTS_REFUSED
from mooring.model import errors
from mooring.model.identity import Identity

log = structlog.get_logger()

_RETRY_SECONDS = 1.0  # where an error does not know better
_STATUS: tuple[tuple[type[errors.MooringError], int], ...] = (
    (errors.InvalidInput, 400),
    (errors.Unauthorized, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.Refused, 429),
    (errors.Unavailable, 503),
)


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every error response."""

    code: str
    message: str
    detail: dict[str, Any] = {}


FailurePage = Callable[[ErrorBody, int], Response[str]]
Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]
Handlers = dict[int | type[Exception], Handler]


def error_handlers(page: FailurePage | None) -> Handlers:
    """The handlers of the application; `page` renders an error for a browser."""
    found: Handlers = {
        errors.MooringError: mooring_error,
        HTTPException: http_error,
        Exception: unexpected_error,
    }
    return found if page is None else {kind: _shown(handler, page) for kind, handler in found.items()}


def _shown(handler: Handler, page: FailurePage) -> Handler:
    def handle(request: Request[Any, Any, Any], error: Any) -> Response[Any]:
        response = handler(request, error)
        if not isinstance(response.content, ErrorBody) or not wants_page(request):
            return response
        return page(response.content, response.status_code or 500)

    return handle


def wants_page(request: Request[Any, Any, Any]) -> bool:
    """Whether the client prefers HTML to JSON, as browsers do. A client that takes anything gets JSON."""
    return request.accept.best_match([MediaType.JSON, MediaType.HTML], MediaType.JSON) == MediaType.HTML


def mooring_error(request: Request[Any, Any, Any], error: errors.MooringError) -> Response[Any]:
    """Mooring's own errors, with the fix in `detail`. A browser without a login is redirected to the login page."""
    if isinstance(error, errors.Unauthorized) and wants_page(request):
        return Redirect(f"/login?next={quote(_came_from(request), safe='')}", status_code=303)
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 502)
    fix = _HIDDEN_NAMES if isinstance(error, errors.NotFound) and not _sees_all_names(request) else error.fix
    detail = {**error.detail, **({"fix": fix} if fix else {})}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status == 429:
        headers["Retry-After"] = str(math.ceil(getattr(error, "retry_after_seconds", _RETRY_SECONDS)))
    return Response(ErrorBody(error.code, error.message, detail), status_code=status, headers=headers)


def _came_from(request: Request[Any, Any, Any]) -> str:
    """Where to go on after the login. A form is not sent again by itself: its question is asked again."""
    query = request.url.query if request.method == "GET" else ""
    return f"{request.url.path}?{query}" if query else request.url.path


_HIDDEN_NAMES = "check the namespace and the name"


def _sees_all_names(request: Request[Any, Any, Any]) -> bool:
    """Suggestions name what exists, also in namespaces that the caller may not see."""
    caller = request.scope.get("user")
    return caller is None or (isinstance(caller, Identity) and caller.is_operator)


CODES = {
    400: "invalid_input",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    429: "too_many_requests",
}


def http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[ErrorBody]:
    """Errors of the framework in the same format."""
    if error.detail == _HUNG_UP:  # nobody's error, and anybody could fill the log with it
        return Response(
            ErrorBody("invalid_input", "the client hung up before its request was complete"), status_code=400
        )
    if error.status_code >= 500:
        return unexpected_error(request, error)
    message, detail = error.detail, {}
    if isinstance(error, ValidationException) and isinstance(error.extra, list) and error.extra:
        problems = [_problem(text) for text in error.extra]
        if _NO_BODY in problems:
            return Response(ErrorBody("invalid_input", "the body is missing", _SEND_ONE), status_code=error.status_code)
        message, detail = f"{problems[0]['key']}: {problems[0]['message']}", {"problems": problems}
    if error.status_code == 413:
        REQUESTS_REFUSED.labels("body").inc()
    code = CODES.get(error.status_code, "refused" if error.status_code < 500 else "internal")
    return Response(ErrorBody(code, message or code, detail), status_code=error.status_code)


_HUNG_UP = "client disconnected prematurely"  # how the framework reports it, as an internal error
_NO_BODY = {"key": "body", "message": "'data'", "source": "body"}  # how the framework reports a missing body
_SEND_ONE = {"field": "body", "fix": "send a JSON object; /docs lists its fields"}


def _problem(message: Any) -> dict[str, Any]:
    """The part of the request that is wrong, and why, by the name that clients use. Handlers call the body `data`."""
    problem = {"key": "request", "message": "not allowed", **(message if isinstance(message, dict) else {})}
    if problem.get("source") == "query":
        first, *others = str(problem["key"]).split("_")
        return {**problem, "key": "".join((first, *map(str.capitalize, others)))}
    return {**problem, "key": "body"} if problem["key"] == "data" else problem


def unexpected_error(request: Request[Any, Any, Any], error: Exception) -> Response[ErrorBody]:
    """An internal error: logged with its traceback, answered without it."""
    log.error("request failed", path=request.url.path, exc_info=error)
    return Response(ErrorBody("internal", "an unexpected error; the server's log has the trace"), status_code=500)
