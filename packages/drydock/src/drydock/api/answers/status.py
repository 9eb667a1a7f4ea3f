"""Refusals of the API, as the Status objects that a kube-apiserver would send."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hawser.transport import Response

_ALWAYS_DETAILED = (403, 404, 405, 409, 415, 422, 429, 504)


@dataclass(frozen=True, slots=True)
class Cause:
    """One invalid field. `reason` is a metav1.CauseType such as FieldValueInvalid, FieldValueRequired, ..."""

    reason: str
    message: str
    field: str


class Refusal(Exception):
    """Raised anywhere below the server; becomes the answer."""

    retry_after_seconds = 0

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        kind: str = "",
        group: str = "",
        name: str = "",
        causes: Sequence[Cause] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.kind = kind
        self.group = group
        self.name = name
        self.causes = tuple(causes)

    def body(self) -> dict[str, Any]:
        """The metav1.Status."""
        details: dict[str, Any] = {}
        if self.name:
            details["name"] = self.name
        if self.group:
            details["group"] = self.group
        if self.kind:
            details["kind"] = self.kind
        if self.causes:
            details["causes"] = [_told(cause) for cause in self.causes]
        if self.retry_after_seconds:
            details["retryAfterSeconds"] = self.retry_after_seconds
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if details or self.code in _ALWAYS_DETAILED:
            body["details"] = details
        return {**body, "code": self.code}


class RefusalForNow(Refusal):
    """The same request may be granted later; clients are asked to wait this long."""

    def __init__(self, code: int, reason: str, message: str, cause: Cause, retry_after_seconds: int) -> None:
        super().__init__(code, reason, message, causes=(cause,))
        self.retry_after_seconds = retry_after_seconds


def _told(cause: Cause) -> dict[str, str]:
    told = {"reason": cause.reason, "message": cause.message}
    return {**told, "field": cause.field} if cause.field else told


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """422 with each cause named, in kube-apiserver's own sentence."""
    qualified = f"{kind}.{group}" if group else kind
    told = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = f"[{', '.join(told)}]" if len(told) > 1 else "".join(told)
    message = f'{qualified} "{name}" is invalid: {text}'
    return Refusal(422, "Invalid", message, kind=kind, group=group, name=name, causes=causes)


def success(*, kind: str = "", group: str = "", name: str = "", uid: str = "", code: int = 0) -> bytes:
    """A metav1.Status that says it is done."""
    told = {"name": name, "group": group, "kind": kind, "uid": uid}
    details = {key: value for key, value in told.items() if value}
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        body["details"] = details
    if code:
        body["code"] = code
    return msgspec.json.encode(body)


class _Whole:
    """A body of one piece; cheaper than a generator, and nothing to finalize when nobody reads it."""

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    def __aiter__(self) -> "_Whole":
        return self

    async def __anext__(self) -> bytes:
        if self._body is None:
            raise StopAsyncIteration
        body, self._body = self._body, None
        return body


def json_response(status: int, body: bytes, headers: dict[str, str] | None = None) -> Response:
    """A whole answer."""
    named = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    return Response(status, named, _Whole(body))
