"""What can go wrong when talking to Mooring, with the code the server sent.

RemoteError            the server answered with an error
+-- ExplainedError     `why` says what stood in the way, and since when
|   +-- ClaimTimeout   nobody became free in time
|   +-- LimitReached   the owner holds as many claims as the pool allows
+-- MintFailed         the pool's mint gave no credentials; never repeated by itself
+-- Unavailable        no answer, or one that says nothing about the request: `retryable`
    +-- Unreachable    no answer came
LeaseLost              the claim is no longer ours; `cause` and `at` say why and since when
"""

import json
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from mooring.model.errors import MooringError
from mooring.model.why import Why


def read_why(told: object) -> Why | None:
    """From the server's JSON; None where there is none, as from an older server."""
    try:
        return msgspec.convert(told, Why)
    except msgspec.ValidationError:
        return None


class RemoteError(MooringError):
    """The server answered with an error; `remote_code` is its stable code."""

    retryable = False

    def __init__(self, status: int, code: str, message: str, detail: dict[str, Any]) -> None:
        super().__init__(message, fix=str(detail.get("fix", "")), detail=detail)
        self.status = status
        self.remote_code = code


class ExplainedError(RemoteError):
    """The server says why, with figures."""

    def __init__(self, status: int, code: str, message: str, detail: dict[str, Any]) -> None:
        super().__init__(status, code, message, detail)
        self.why = read_why(detail.get("why")) or Why(code, message, fix=self.fix)


class ClaimTimeout(ExplainedError):
    """Nobody became free in time."""


class LimitReached(ExplainedError):
    """The owner holds as many claims as the pool allows."""


class MintFailed(RemoteError):
    """The pool's mint gave no credentials."""


class Unavailable(RemoteError):
    """The request may or may not have taken effect; asking again may help."""

    retryable = True


class Unreachable(Unavailable):
    """No answer came."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(0, "unreachable", message, {"fix": fix})


class LossCause(StrEnum):
    """Why a lease is over before its holder gave it back."""

    EXPIRED = "expired"  # it was not renewed within its ttl
    DRAINED = "drained"  # its worker was drained
    EVICTED = "evicted"  # its worker is gone
    REVOKED = "revoked"  # somebody else released it


class LeaseLost(MooringError):
    """The claim is no longer ours: whatever was done under it must stop."""

    code = "lease_lost"

    def __init__(self, claim_id: str, cause: LossCause, at: datetime, reason: str = "") -> None:
        told = f"the lease on claim {claim_id} is lost ({cause.value}{': ' + reason if reason else ''})"
        super().__init__(told, fix="stop the work and claim a worker again", detail={"claim": claim_id})
        self.cause = cause
        self.at = at


_OF_CODE: dict[str, type[RemoteError]] = {
    "wait_timed_out": ClaimTimeout,
    "no_idle_worker": ClaimTimeout,
    "limit_reached": LimitReached,
    "mint_failed": MintFailed,
}


def read_error(status: int, payload: bytes) -> RemoteError:
    """The error an answer stands for."""
    try:
        body = json.loads(payload)
        code, message, detail = str(body["code"]), str(body["message"]), dict(body.get("detail") or {})
    except (ValueError, KeyError, TypeError):
        code, message, detail = "unreadable", f"HTTP {status}: {payload[:200].decode('utf-8', 'replace')}", {}
    kind = _OF_CODE.get(code, Unavailable if status >= 500 else RemoteError)
    return kind(status, code, message, detail)
