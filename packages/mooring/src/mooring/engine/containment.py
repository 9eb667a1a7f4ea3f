"""Loops outlive the objects they look at: an unexpected error ends one pass, never the control plane."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from mooring.engine.metrics import RECONCILE_ERRORS

log = structlog.get_logger()


@contextmanager
def contained(loop: str, **about: object) -> Iterator[None]:
    """Log and count an unexpected error, with the subject of the pass. Cancellation is not caught.

    The loop has to wait before its next pass: what failed once may fail again at once.
    """
    errors = RECONCILE_ERRORS.labels(loop, "bug")  # from the first pass on: a series is seen to rise only from zero
    try:
        yield
    except Exception:
        errors.inc()
        log.exception("pass failed", loop=loop, **about)
