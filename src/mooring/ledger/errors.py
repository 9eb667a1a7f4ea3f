"""The one place where PostgreSQL's errors become Mooring's."""

from collections.abc import Iterator
from contextlib import contextmanager

from asyncpg import exceptions as pg

from mooring.model.errors import Misconfigured, Unavailable

RETRYABLE = (pg.SerializationError, pg.DeadlockDetectedError)
"""The whole transaction may simply be run again."""

_AWAY = (
    OSError,
    TimeoutError,
    pg.PostgresConnectionError,
    pg.OperatorInterventionError,
    pg.InsufficientResourcesError,
    pg.PostgresSystemError,
    pg.LockNotAvailableError,
    pg.ReadOnlySQLTransactionError,
    pg.TargetServerAttributeNotMatched,
    *RETRYABLE,
)
_MISCONFIGURED = (
    pg.InvalidAuthorizationSpecificationError,
    pg.InvalidCatalogNameError,
    pg.InsufficientPrivilegeError,
    pg.ClientConfigurationError,
    pg.UnsupportedClientFeatureError,
)


@contextmanager
def translated(where: str = "the database") -> Iterator[None]:
    """Raise Unavailable or Misconfigured for what is the database's state; anything else is a bug and passes."""
    try:
        yield
    except _MISCONFIGURED as error:
        raise Misconfigured(
            f"{where} refuses Mooring: {_said(error)}", fix="correct the database URL or its grants"
        ) from error
    except _AWAY as error:
        raise Unavailable(f"{where} does not answer: {_said(error)}", fix="it is tried again; see its log") from error
    except pg.InterfaceError as error:
        if not _is_closed(error):
            raise
        raise Unavailable(f"{where} is closed", fix="it is tried again") from error


def _said(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _is_closed(error: pg.InterfaceError) -> bool:
    """asyncpg has one class for misuse and for a connection or pool that was closed meanwhile."""
    text = str(error)
    return any(word in text for word in ("is closed", "is closing", "was closed", "released back"))
