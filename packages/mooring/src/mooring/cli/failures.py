"""Exit codes, and how an error is printed: its code and cause, its page of the runbook, and last the fix."""

import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

from mooring.cli.output import printable
from mooring.client.errors import ClaimTimeout, ExplainedError, LeaseLost
from mooring.model import errors
from mooring.model.runbook import runbook_command
from mooring.model.time_format import describe_moment
from mooring.model.why import Why

OK, FAILED, USAGE, NOT_FOUND, AUTH, TIMED_OUT, LEASE_LOST = range(7)
INTERRUPTED = 130  # as in shells: 128 + SIGINT
EXIT_CODES = {
    OK: "Success.",
    FAILED: "Refused, failed, or a check of the doctor fails.",
    USAGE: "Wrong arguments or input.",
    NOT_FOUND: "The object does not exist, or the caller may not see it.",
    AUTH: "The caller is unknown, or lacks a permission.",
    TIMED_OUT: "No worker became free in time.",
    LEASE_LOST: "The claim was lost or revoked.",
    INTERRUPTED: "Ended by Ctrl-C.",
}

T = TypeVar("T")


def exit_code(error: errors.MooringError) -> int:
    """The code by which scripts distinguish errors."""
    status = getattr(error, "status", 0)
    if isinstance(error, ClaimTimeout):
        return TIMED_OUT
    if isinstance(error, LeaseLost):
        return LEASE_LOST
    if isinstance(error, errors.InvalidInput) or status == 400:
        return USAGE
    if isinstance(error, errors.NotFound) or status == 404:
        return NOT_FOUND
    if isinstance(error, errors.Unauthorized | errors.Forbidden) or status in (401, 403):
        return AUTH
    return FAILED


def fail(error: errors.MooringError) -> NoReturn:
    """Print a line for the cause, one for each blocker, one for the runbook and one for the fix, and exit."""
    code = getattr(error, "remote_code", error.code)
    print(printable(f"mooring: {code}: {error.message}"), file=sys.stderr)
    for line in _lines(error.why) if isinstance(error, ExplainedError) and error.why.since else ():
        print(printable(f"  {line}"), file=sys.stderr)
    if not error.fix or exit_code(error) != USAGE:  # a wrong argument needs no more than its fix
        print(printable(f"  runbook: {runbook_command(code)}"), file=sys.stderr)
    if error.fix:
        print(printable(f"  fix: {error.fix}"), file=sys.stderr)
    sys.exit(exit_code(error))


def _lines(why: Why) -> list[str]:
    since = f" (since {describe_moment(why.since)})" if why.since else ""
    return [f"{why.message}{since}", *why.blockers]


def guarded(action: Callable[[], T]) -> T:
    """Run the body of a command. An error that Mooring raises on purpose is printed without a traceback."""
    try:
        return action()
    except errors.MooringError as error:
        fail(error)
    except ExceptionGroup as group:
        if (first := _first_expected(group)) is None:
            raise
        fail(first)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _first_expected(group: ExceptionGroup[Exception]) -> errors.MooringError | None:
    """The first error of concurrent tasks; None when one of the errors is a defect."""
    expected, defects = group.split(errors.MooringError)
    if expected is None or defects is not None:
        return None
    first: Exception = expected
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, errors.MooringError) else None
