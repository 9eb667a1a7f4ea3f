"""Every error Mooring raises on purpose.

    MooringError
    +-- InvalidInput       a value from outside is wrong: names the field, the value and the fix
    +-- NotFound           the thing asked for is not there
    +-- Conflict           it changed underneath, or is held by someone else: read again
    |   +-- StaleEpoch     the caller acts under an epoch that is over
    +-- Refused            a rule forbids it now (a limit, a kill switch, a brake)
    +-- Unauthorized       who is asking is unknown
    +-- Forbidden          who is asking is known and may not
    +-- Unavailable        the cluster or the ledger did not answer; the outcome may be unknown
    +-- Misconfigured      a setting or a start-up condition is wrong
    +-- KubeError          what a Kubernetes API answered (its tree is in kube/errors.py)

Each says what happened, to what, and what to do (`fix`). `code` is stable: programs match on it.
"""

from typing import Any, ClassVar


class MooringError(Exception):
    """The root: a stable `code`, a message for people, and the next step in `fix`."""

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, fix: str = "", detail: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.detail = detail or {}

    def __str__(self) -> str:
        return f"{self.message} (fix: {self.fix})" if self.fix else self.message


class InvalidInput(MooringError):
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


class NotFound(MooringError):
    """The thing asked for is not there."""

    code = "not_found"


class Conflict(MooringError):
    """It changed underneath, or someone else holds it."""

    code = "conflict"


class StaleEpoch(Conflict):
    """The caller acts under an epoch that is over."""

    code = "stale_epoch"


class Refused(MooringError):
    """A rule forbids it now."""

    code = "refused"


class Unauthorized(MooringError):
    """Who is asking is unknown."""

    code = "unauthorized"


class Forbidden(MooringError):
    """Who is asking is known, and may not."""

    code = "forbidden"


class Unavailable(MooringError):
    """The cluster or the ledger did not answer."""

    code = "unavailable"
    retryable: ClassVar[bool] = True


class Misconfigured(MooringError):
    """A setting or a start-up condition is wrong."""

    code = "misconfigured"
