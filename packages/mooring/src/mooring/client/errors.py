"""Errors of the SDK, with the stable code that the server sent.

RemoteError            the server answered with an error
+-- ExplainedError     `why` gives the reason and since when it holds
|   +-- ClaimTimeout   no worker became free in time
|   +-- LimitReached   the owner holds as many claims as the pool allows, or its queue is full
+-- MintFailed         the pool's mint returned no credentials; never retried automatically
+-- Unavailable        no answer, or one that does not show whether the request took effect: `retryable`
    +-- TooMany        a limit of the server for its callers; nothing took effect
    +-- Unreachable    no answer came
        +-- Untrusted  the server's certificate is not accepted: a repetition does not help
LeaseLost              the claim is no longer ours; `cause` and `at` say why and since when
+-- WaitRevoked        an operator revoked the claim while it waited: no work had begun
"""

import json
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from mooring.model.errors import MooringError
from mooring.model.why import Why

UNREADABLE = "unreadable"  # code of an answer that is not Mooring's


def read_why(body: object) -> Why | None:
    """From the server's JSON; None where there is none, as from an older server."""
    try:
        return msgspec.convert(body, Why)
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
    """The server gives the reason, with figures."""

    def __init__(self, status: int, code: str, message: str, detail: dict[str, Any]) -> None:
        super().__init__(status, code, message, detail)
        self.why = read_why(detail.get("why")) or Why(code, message, fix=self.fix)


class ClaimTimeout(ExplainedError):
    """No worker became free in time."""


class LimitReached(ExplainedError):
    """The owner holds as many claims as the pool allows, or as many claims wait as it allows."""


class MintFailed(RemoteError):
    """The pool's mint returned no credentials."""


class ClaimRevoked(RemoteError):
    """An operator revoked the claim while it waited. The SDK raises it as `WaitRevoked`."""


class Unavailable(RemoteError):
    """The request may or may not have taken effect; a retry may help."""

    retryable = True

    @property
    def answered(self) -> bool:
        """Whether Mooring itself answered: False for the answer of a proxy, and without an answer."""
        return self.status != 0 and self.remote_code != UNREADABLE


class TooMany(Unavailable):
    """The caller has reached a limit of the server: requests a second, unanswered requests, event streams."""


class Unreachable(Unavailable):
    """No answer came."""

    local_code = "unreachable"

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(0, self.local_code, message, {"fix": fix})


class Untrusted(Unreachable):
    """The server's certificate is not accepted, or it does not speak TLS. The SDK does not repeat the request."""

    local_code = "untrusted"


class LossCause(StrEnum):
    """Why a claim ended before its holder released it."""

    EXPIRED = "expired"  # it was not renewed within its ttl
    DRAINED = "drained"  # its worker was drained
    EVICTED = "evicted"  # its worker is gone
    REVOKED = "revoked"  # somebody else released it
    ABANDONED = "abandoned"  # we were not heard of while it waited, or did not take the worker in time


class LeaseLost(MooringError):
    """The claim is no longer ours: all work under it must stop."""

    code = "lease_lost"

    def __init__(self, claim_id: str, cause: LossCause, at: datetime, reason: str = "") -> None:
        message = f"claim {claim_id} is lost ({cause.value}{': ' + reason if reason else ''})"
        super().__init__(message, fix="stop the work and claim a worker again", detail={"claim": claim_id})
        self.cause = cause
        self.at = at


class WaitRevoked(LeaseLost):
    """An operator revoked the claim while it waited for a worker. `reason` says why, and who did."""

    code = "claim_revoked"

    def __init__(self, claim_id: str, at: datetime, reason: str) -> None:
        super().__init__(claim_id, LossCause.REVOKED, at, reason)
        self.reason = reason
        self.message = f"claim {claim_id} was revoked while it waited: {reason}"
        self.fix = "ask who revoked it before you claim again"


_BY_CODE: dict[str, type[RemoteError]] = {
    "wait_timed_out": ClaimTimeout,
    "no_idle_worker": ClaimTimeout,
    "limit_reached": LimitReached,
    "queue_full": LimitReached,
    "mint_failed": MintFailed,
    "claim_revoked": ClaimRevoked,
    "too_many_requests": TooMany,
    "too_many_open_requests": TooMany,
    "too_many_streams": TooMany,
}


def read_error(status: int, payload: bytes) -> RemoteError:
    """The error that an answer stands for."""
    try:
        body = json.loads(payload)
        code, message, detail = str(body["code"]), str(body["message"]), dict(body.get("detail") or {})
    except (ValueError, KeyError, TypeError):
        code, message, detail = UNREADABLE, f"HTTP {status}: {payload[:200].decode('utf-8', 'replace')}", {}
    kind = _BY_CODE.get(code, Unavailable if status >= 500 else RemoteError)
    return kind(status, code, message, detail)
