"""Every error that Mooring raises on purpose.

    MooringError           the same class as hawser's root: one handler serves both trees
    +-- InvalidInput       a value from outside is wrong: names the field, the value and the fix
    +-- NotFound           the requested object does not exist
    +-- Conflict           the object changed, or another client holds it: read again
    |   +-- StaleEpoch     the caller acts under an outdated epoch
    |   +-- WorkerClaimed  a live claim holds the worker
    +-- Refused            a limit, a kill switch or a brake forbids it now
    +-- Unauthorized       the caller is unknown
    +-- Forbidden          the caller is known and has no permission
    +-- Unavailable        the cluster or the ledger did not answer; the outcome may be unknown
    +-- Misconfigured      a setting or a start-up condition is wrong
    +-- KubeError          an error of a Kubernetes API (its tree is in hawser/errors.py)

Each error says what happened, to what, and what to do (`fix`). `code` is stable: programs match on it.
"""

from typing import ClassVar

from hawser.errors import Conflict, InvalidInput, Misconfigured, NotFound
from hawser.errors import HawserError as MooringError

__all__ = [
    "Conflict",
    "Forbidden",
    "InvalidInput",
    "Misconfigured",
    "MooringError",
    "NotFound",
    "Refused",
    "StaleEpoch",
    "Unauthorized",
    "Unavailable",
    "WorkerClaimed",
]


class StaleEpoch(Conflict):
    """The caller acts under an outdated epoch."""

    code = "stale_epoch"


class WorkerClaimed(Conflict):
    """A live claim holds the worker."""

    code = "worker_claimed"


class Refused(MooringError):
    """A limit, a kill switch or a brake forbids it now."""

    code = "refused"


class Unauthorized(MooringError):
    """The caller is unknown."""

    code = "unauthorized"


class Forbidden(MooringError):
    """The caller is known and has no permission."""

    code = "forbidden"


class Unavailable(MooringError):
    """The cluster or the ledger did not answer."""

    code = "unavailable"
    retryable: ClassVar[bool] = True
