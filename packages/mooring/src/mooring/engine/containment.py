"""Loops outlive the objects they look at: an unexpected error ends one pass, never the control plane."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from mooring.engine.metrics import RECONCILE_ERRORS

log = structlog.get_logger()


@contextmanager
def contained(loop: str, **about: object) -> Iterator[None]:
    """Log an unexpected error with what the pass was about, and count it. Cancellation passes through.

    The loop has to wait before its next pass: what failed once may fail again at once.
    """
    try:
        yield
    except Exception:
        RECONCILE_ERRORS.labels(loop, "bug").inc()
        log.exception("pass failed", loop=loop, **about)
