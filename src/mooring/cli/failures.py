"""Exit codes, and how an error looks in the terminal: code, cause, next command."""

import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

from mooring.model import errors

OK, FAILED, USAGE, NOT_FOUND, AUTH, TIMED_OUT, LEASE_LOST = range(7)

T = TypeVar("T")


def exit_code(error: errors.MooringError) -> int:
    """What a script can match on."""
    status = getattr(error, "status", 0)
    if isinstance(error, errors.InvalidInput) or status == 400:
        return USAGE
    if isinstance(error, errors.NotFound) or status == 404:
        return NOT_FOUND
    if isinstance(error, errors.Unauthorized | errors.Forbidden) or status in (401, 403):
        return AUTH
    return FAILED


def fail(error: errors.MooringError) -> NoReturn:
    """One line for the cause, one for what to do."""
    code = getattr(error, "remote_code", error.code)
    print(f"mooring: {code}: {error.message}", file=sys.stderr)
    if error.fix:
        print(f"  fix: {error.fix}", file=sys.stderr)
    sys.exit(exit_code(error))


def guarded(action: Callable[[], T]) -> T:
    """Run a command's body; an error of ours ends it in words, not in a traceback."""
    try:
        return action()
    except errors.MooringError as error:
        fail(error)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(130)
