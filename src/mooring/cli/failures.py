"""Exit codes, and how an error looks in the terminal: code, cause, next command."""

import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

from mooring.cli.output import printable
from mooring.client.errors import ClaimTimeout, ExplainedError, LeaseLost
from mooring.model import errors
from mooring.model.spans import describe_moment
from mooring.model.why import Why

OK, FAILED, USAGE, NOT_FOUND, AUTH, TIMED_OUT, LEASE_LOST = range(7)

T = TypeVar("T")


def exit_code(error: errors.MooringError) -> int:
    """What a script can match on."""
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
    """One line for the cause, one for each thing in the way, one for what to do."""
    code = getattr(error, "remote_code", error.code)
    print(printable(f"mooring: {code}: {error.message}"), file=sys.stderr)
    for line in _lines(error.why) if isinstance(error, ExplainedError) and error.why.since else ():
        print(printable(f"  {line}"), file=sys.stderr)
    if error.fix:
        print(printable(f"  fix: {error.fix}"), file=sys.stderr)
    sys.exit(exit_code(error))


def _lines(why: Why) -> list[str]:
    since = f" (since {describe_moment(why.since)})" if why.since else ""
    return [f"{why.message}{since}", *why.blockers]


def guarded(action: Callable[[], T]) -> T:
    """Run a command's body; an error of ours ends it in words, not in a traceback."""
    try:
        return action()
    except errors.MooringError as error:
        fail(error)
    except ExceptionGroup as group:
        if (ours := _only_ours(group)) is None:
            raise
        fail(ours)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(130)


def _only_ours(group: ExceptionGroup[Exception]) -> errors.MooringError | None:
    """The first error of tasks that ran side by side, unless one of them is a bug."""
    ours, bugs = group.split(errors.MooringError)
    if ours is None or bugs is not None:
        return None
    first: Exception = ours
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, errors.MooringError) else None
