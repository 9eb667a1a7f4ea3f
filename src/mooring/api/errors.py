"""Errors on the wire: `{code, message, detail}` with stable codes."""

from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.response import Redirect

from mooring.model import errors

log = structlog.get_logger()

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
    """What every failed answer holds."""

    code: str
    message: str
    detail: dict[str, Any] = {}


def mooring_error(request: Request[Any, Any, Any], error: errors.MooringError) -> Response[Any]:
    """Our own errors carry their code; the fix travels in the detail. A browser that is not logged in is sent there."""
    if isinstance(error, errors.Unauthorized) and "text/html" in request.headers.get("accept", ""):
        return Redirect("/login", status_code=303)
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 502)
    detail = {**error.detail, **({"fix": error.fix} if error.fix else {})}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return Response(ErrorBody(error.code, error.message, detail), status_code=status, headers=headers)


_CODES = {
    400: "invalid_input",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}


def http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[ErrorBody]:
    """The framework's refusals, in our words."""
    if error.status_code >= 500:
        return unexpected_error(request, error)
    message, detail = error.detail, {}
    if isinstance(error, ValidationException) and isinstance(error.extra, list) and error.extra:
        problems = [_problem(told) for told in error.extra]
        if _NO_BODY in problems:
            return Response(ErrorBody("invalid_input", "the body is missing", _SEND_ONE), status_code=error.status_code)
        message, detail = f"{problems[0]['key']}: {problems[0]['message']}", {"problems": problems}
    code = _CODES.get(error.status_code, "refused" if error.status_code < 500 else "internal")
    return Response(ErrorBody(code, message or code, detail), status_code=error.status_code)


_NO_BODY = {"key": "body", "message": "'data'", "source": "body"}  # as the framework says that a body did not come
_SEND_ONE = {"field": "body", "fix": "send a JSON object; /docs tells its fields"}


def _problem(told: Any) -> dict[str, Any]:
    """What is wrong with which part of the request. Handlers call the body `data`; who sent it does not."""
    problem = {"key": "request", "message": "not allowed", **(told if isinstance(told, dict) else {})}
    return {**problem, "key": "body"} if problem["key"] == "data" else problem


def unexpected_error(request: Request[Any, Any, Any], error: Exception) -> Response[ErrorBody]:
    """A bug of ours: logged with its trace, told without it."""
    log.error("request failed", path=request.url.path, exc_info=error)
    return Response(ErrorBody("internal", "an unexpected error; the server's log has the trace"), status_code=500)
