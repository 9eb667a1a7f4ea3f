"""Every error that hawser raises, each with what happened, to what, and what to do next.

HawserError              a stable `code`, a message for people, the next step in `fix`
+-- InvalidInput         a value from outside is wrong: names the field, the value and the fix
+-- NotFound             the thing asked for is not there
+-- Conflict             it changed in the meantime, or someone else holds it: read again
+-- Misconfigured        a setting or a start-up condition is wrong
+-- KubeError            what a Kubernetes API answered:

KubeError
+-- ConnectionFailed    no answer came; a write may or may not have happened: read back
|   +-- AnswerUnreadable  an answer came, cut short or not as JSON
+-- CredentialsFailed   a token or certificate could not be got; nothing was sent
+-- ApiError            an answer with a Status
    +-- BadRequest      400
    +-- NotAuthorized   401
    +-- NotPermitted    403
    +-- ObjectNotFound  404: on a live GET the only proof of absence
    +-- NotServed       404: the kind itself is not served
    +-- Gone            410: relist
    +-- ObjectConflict  409: reread and decide again
    |   +-- AlreadyExists
    +-- ObjectChanged   422 from a wrong uid in a patch or a failed JSON-patch test: it changed
    +-- ObjectInvalid   422: the request itself is wrong; causes name the fields
    +-- TooManyRequests 429: honour `retry_after_seconds`
    |   +-- EvictionBlocked  a disruption budget said no; never turn it into a delete
    +-- ServerFailed    5xx: unknown outcome on a write
        +-- TooNew      504: the resourceVersion asked for is ahead of the server
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec


class HawserError(Exception):
    """The root: a stable `code`, a message for people, and the next step in `fix`."""

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, fix: str = "", detail: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.detail = detail or {}

    def __str__(self) -> str:
        return f"{self.message} (fix: {self.fix})" if self.fix else self.message


class InvalidInput(HawserError):
    """A value from outside is wrong."""

    code = "invalid_input"

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = repr(value)
        if len(shown) > 120:
            shown = shown[:117] + "..."
        super().__init__(
            f"{field}: {shown} is not allowed",
            fix=f"{field} must be {expected}",
            detail={"field": field, "value": shown},
        )
        self.field = field


class NotFound(HawserError):
    """The thing asked for is not there."""

    code = "not_found"


class Conflict(HawserError):
    """It changed in the meantime, or someone else holds it."""

    code = "conflict"


class Misconfigured(HawserError):
    """A setting or a start-up condition is wrong."""

    code = "misconfigured"


class StatusCause(msgspec.Struct, frozen=True):
    """One of the reasons a request was refused."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename={"retry_after_seconds": "retryAfterSeconds"}):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] | None = None
    retry_after_seconds: int | None = None


class Status(msgspec.Struct, frozen=True):
    """The body of every failed answer, and of watch ERROR events."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class KubeError(HawserError):
    """The root of everything a Kubernetes API can do to us."""

    code = "kubernetes"


class ConnectionFailed(KubeError):
    """No answer came. A write may have taken effect."""

    code = "kubernetes_unreachable"


class AnswerUnreadable(ConnectionFailed):
    """An answer came that cannot be understood. A write may have taken effect."""

    code = "kubernetes_unreadable"

    def __init__(self, message: str, *, body: bytes = b"") -> None:
        super().__init__(message, detail={"body": body[:200].decode("utf-8", "replace")})


class CredentialsFailed(KubeError):
    """A token file or a credential plugin gave nothing to authenticate with."""

    code = "kubernetes_credentials"


class ApiError(KubeError):
    """An answer with a Status that is not success."""

    code = "kubernetes_refused"
    advice: ClassVar[str] = ""

    def __init__(self, status: Status, *, retry_after_seconds: float | None = None, asked: str = "") -> None:
        message = status.message or f"the API server answered with HTTP {status.code}"
        super().__init__(
            message, fix=self.advice, detail={"status": status.code, "reason": status.reason, "asked": asked}
        )
        self.status = status
        self.retry_after_seconds = retry_after_seconds

    @property
    def causes(self) -> list[StatusCause]:
        return causes_of(self.status)


class BadRequest(ApiError):
    code = "kubernetes_bad_request"


class NotAuthorized(ApiError):
    code = "kubernetes_unauthorized"
    advice = "look whether the kubeconfig's user or the service account's token is still valid for this cluster"


class NotPermitted(ApiError):
    code = "kubernetes_forbidden"
    advice = "grant the account that permission"


class ObjectNotFound(ApiError):
    code = "kubernetes_not_found"


class NotServed(ApiError):
    code = "kubernetes_not_served"
    advice = "install the kind's CRD and wait until it is established"


class Gone(ApiError):
    code = "kubernetes_gone"


class ObjectConflict(ApiError):
    code = "kubernetes_conflict"


class AlreadyExists(ObjectConflict):
    code = "kubernetes_already_exists"


class ObjectChanged(ApiError):
    code = "kubernetes_changed"


class ObjectInvalid(ApiError):
    code = "kubernetes_invalid"


class TooManyRequests(ApiError):
    code = "kubernetes_too_many_requests"


class EvictionBlocked(TooManyRequests):
    code = "eviction_blocked"


class ServerFailed(ApiError):
    code = "kubernetes_failed"


class TooNew(ServerFailed):
    code = "kubernetes_too_new"


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: NotAuthorized,
    403: NotPermitted,
    404: ObjectNotFound,
    409: ObjectConflict,
    410: Gone,
    422: ObjectInvalid,
    429: TooManyRequests,
}


def error_from_status(status: Status, headers: Mapping[str, str] | None = None, *, asked: str = "") -> ApiError:
    """The exception for a failed answer or a watch ERROR event."""
    seconds = _retry_after(status, headers or {})
    return _class_for(status)(status, retry_after_seconds=seconds, asked=asked)


def error_from_answer(http_status: int, headers: Mapping[str, str], body: bytes, *, asked: str = "") -> ApiError:
    """The exception for a failed HTTP answer, also when its body is no Status."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        status = Status(message=body[:500].decode("utf-8", "replace").strip())
    if status.code != http_status:
        status = msgspec.structs.replace(status, code=http_status)
    return error_from_status(status, headers, asked=asked)


def causes_of(status: Status) -> list[StatusCause]:
    """The causes in a Status, of which there may be none."""
    return (status.details.causes if status.details else None) or []


def _class_for(status: Status) -> type[ApiError]:
    causes = causes_of(status)
    if status.code == 404 and status.reason != "NotFound":
        return NotServed
    if status.code == 409 and status.reason == "AlreadyExists":
        return AlreadyExists
    if status.code == 422 and _means_changed(status, causes):
        return ObjectChanged
    if status.code == 429 and any(cause.reason == "DisruptionBudget" for cause in causes):
        return EvictionBlocked
    if status.code == 504 and any(cause.reason == "ResourceVersionTooLarge" for cause in causes):
        return TooNew
    return _BY_CODE.get(status.code, ServerFailed if status.code >= 500 else ApiError)


def _means_changed(status: Status, causes: list[StatusCause]) -> bool:
    if any(cause.field == "metadata.uid" for cause in causes):
        return True
    # A JSON patch whose test fails, or whose path is not there, is refused with this sentence and nothing else.
    return not causes and status.message.startswith("the server rejected our request due to an error in our request")


def _retry_after(status: Status, headers: Mapping[str, str]) -> float | None:
    header = headers.get("retry-after", "")
    if header.isdigit():
        return float(header)
    if status.details and status.details.retry_after_seconds:
        return float(status.details.retry_after_seconds)
    return None
