"""Translation of PostgreSQL's errors into Mooring's. It happens only here."""

from collections.abc import Iterator
from contextlib import contextmanager

from asyncpg import exceptions as pg

from mooring.model.errors import InvalidInput, Misconfigured, Unavailable

RETRYABLE = (pg.SerializationError, pg.DeadlockDetectedError)
"""The whole transaction may simply be run again."""

_AWAY = (
    OSError,
    TimeoutError,
    pg.PostgresConnectionError,
    pg.OperatorInterventionError,
    pg.InsufficientResourcesError,
    pg.PostgresSystemError,
    pg.ObjectNotInPrerequisiteStateError,
    pg.ReadOnlySQLTransactionError,
    pg.InternalClientError,  # also raised for a connection that received its end and is not closed yet
    *RETRYABLE,
)
_MISCONFIGURED = (
    pg.InvalidAuthorizationSpecificationError,
    pg.InvalidCatalogNameError,
    pg.InsufficientPrivilegeError,
    pg.ClientConfigurationError,
    pg.UnsupportedClientFeatureError,
)
_WAIT = "it is tried again; see the database's log"


@contextmanager
def translated(where: str, *, starting: bool = False) -> Iterator[None]:
    """Raise Unavailable for errors of the database's state; any other error is a bug and is raised unchanged.

    Errors that only an operator can correct are Misconfigured while `starting`. Later they count as maintenance and are
    Unavailable.
    """
    try:
        yield
    except _MISCONFIGURED as error:
        if starting:
            fix = "correct the database URL, or the database's grants"
            raise Misconfigured(f"{where} refuses Mooring: {_said(error)}", fix=fix) from error
        raise Unavailable(f"{where} refuses Mooring: {_said(error)}", fix=_WAIT) from error
    except _AWAY as error:
        raise Unavailable(f"{where} does not answer: {_said(error)}", fix=_WAIT) from error
    except ValueError as error:
        if not starting:
            raise
        raise Misconfigured(
            f"the database URL cannot be read: {_said(error)}", fix="correct the database URL"
        ) from error
    except (pg.CharacterNotInRepertoireError, pg.UntranslatableCharacterError) as error:
        raise InvalidInput("text", _said(error), "text without NUL characters") from error
    except pg.InterfaceError as error:
        if not _is_closed(error):
            raise
        raise Unavailable(f"{where} is closed", fix=_WAIT) from error


def _said(error: BaseException) -> str:
    silent = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    return " ".join(str(error).split()) or silent


def _is_closed(error: pg.InterfaceError) -> bool:
    """asyncpg uses one class for misuse and for a connection or pool that has been closed."""
    return any(word in str(error) for word in ("is closed", "is closing", "was closed", "released back"))
