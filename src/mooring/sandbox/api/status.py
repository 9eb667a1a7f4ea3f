"""Refusals of the sandbox API, as the Status objects that a kube-apiserver would send."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mooring.kube.transport import Response


@dataclass(frozen=True, slots=True)
class Cause:
    """One invalid field. `reason` is a metav1.CauseType: FieldValueInvalid, FieldValueRequired, FieldValueForbidden..."""

    reason: str
    message: str
    field: str


class Refusal(Exception):
    """Raised anywhere below the server; becomes the answer."""

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
        retry_after_seconds: int = 0,
        uid: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.kind = kind
        self.group = group
        self.name = name
        self.causes = tuple(causes)
        self.retry_after_seconds = retry_after_seconds
        self.uid = uid

    def body(self) -> dict[str, Any]:
        """The metav1.Status."""
        details: dict[str, Any] = {}
        if self.name:
            details["name"] = self.name
        if self.group:
            details["group"] = self.group
        if self.kind:
            details["kind"] = self.kind
        if self.uid:
            details["uid"] = self.uid
        if self.causes:
            details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in self.causes]
        if self.retry_after_seconds:
            details["retryAfterSeconds"] = self.retry_after_seconds
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        if details:
            body["details"] = details
        return body


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """422 with each cause named, in kube-apiserver's own sentence."""
    qualified = f"{kind}.{group}" if group else kind
    told = "; ".join(f"{c.field}: {c.message}" for c in causes)
    text = f"[{', '.join(f'{c.field}: {c.message}' for c in causes)}]" if len(causes) > 1 else told
    return Refusal(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', kind=kind, group=group, name=name, causes=causes)


def json_response(status: int, body: bytes, headers: dict[str, str] | None = None) -> Response:
    """A whole answer."""

    async def chunks() -> Any:
        yield body

    return Response(status, {"content-type": "application/json", **(headers or {})}, chunks())
