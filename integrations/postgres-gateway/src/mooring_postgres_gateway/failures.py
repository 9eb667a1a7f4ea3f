"""Errors that a client sees, each with the SQLSTATE that says what it may do next."""

from mooring.client.errors import ClaimTimeout, LeaseLost, LimitReached, RemoteError, Unavailable
from mooring.model.errors import MooringError
from mooring_postgres_gateway.wire.bodies import error_response
from mooring_postgres_gateway.wire.frames import Message

CONNECTION_FAILURE = "08006"
OUTCOME_UNKNOWN = "08007"  # transaction_resolution_unknown
PROTOCOL_VIOLATION = "08P01"
FEATURE_NOT_SUPPORTED = "0A000"
FAILED_TRANSACTION = "25P02"
IDLE_IN_TRANSACTION = "25P03"
NOT_AUTHORISED = "28000"
WRONG_PASSWORD = "28P01"
NO_SUCH_DATABASE = "3D000"
SERIALIZATION_FAILURE = "40001"
INSUFFICIENT_RESOURCES = "53000"
TOO_MANY_SESSIONS = "53300"
LIMIT_EXCEEDED = "53400"
CANCELLED = "57014"
WORKER_LOST = "57P01"
CANNOT_CONNECT_NOW = "57P03"
IDLE_SESSION = "57P05"
INTERNAL = "XX000"

REFUSED = "refused"  # routine of an error by which a worker says that it has not begun the statement


class SessionError(Exception):
    """An error for the client. A fatal one ends its connection."""

    def __init__(self, state: str, message: str, *, hint: str = "", fatal: bool = False, routine: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.message = message
        self.hint = hint
        self.fatal = fatal
        self.routine = routine

    def encode(self) -> Message:
        """As it is sent."""
        severity = "FATAL" if self.fatal else "ERROR"
        fields = [("S", severity), ("V", severity), ("C", self.state), ("M", self.message)]
        optional = (("H", self.hint), ("R", self.routine))
        return error_response([*fields, *((code, value) for code, value in optional if value)])


def classify_claim_failure(error: MooringError, pool: str) -> SessionError:
    """Why no worker could be claimed."""
    if isinstance(error, LimitReached):
        return SessionError(TOO_MANY_SESSIONS, error.message, hint=error.fix)
    if isinstance(error, ClaimTimeout):
        return SessionError(INSUFFICIENT_RESOURCES, f"no worker of {pool} became free in time", hint=error.fix)
    if isinstance(error, Unavailable):
        hint = "Mooring does not answer; run the statement again later"
        return SessionError(CANNOT_CONNECT_NOW, error.message, hint=error.fix or hint)
    if isinstance(error, LeaseLost):
        return SessionError(WORKER_LOST, error.message, hint="run the statement again")
    state = NOT_AUTHORISED if isinstance(error, RemoteError) and error.status in (401, 403) else INTERNAL
    return SessionError(state, error.message, hint=error.fix)
