"""Writing the status of a submission."""

from typing import Any

import msgspec
import structlog

from hawser.errors import KubeError
from mooring.engine.context import Context
from mooring.engine.status_writer import StatusWriter
from mooring.kinds.resources import SUBMISSIONS
from mooring.kinds.views import Submission
from mooring.model.errors import MooringError
from mooring.model.evidence import clean_line
from mooring.model.submission import ENDED, Phase, SubmissionStatus
from mooring.planning.submissions.status import Standing, compute_status

log = structlog.get_logger()


class SubmissionStatuses:
    """The one writer of statuses."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._writer: StatusWriter[SubmissionStatus] = StatusWriter(
            context.client, SUBMISSIONS, context.clock, context.events, encode=_as_patch
        )

    def forget(self, key: str) -> None:
        """Forget a submission that has ended or was deleted."""
        self._writer.forget(key)

    def latest(self, cached: Submission) -> Submission:
        """As the cache shows it, or as it was written here when the cache lags behind."""
        meta = cached.metadata
        status = self._writer.latest(meta.key, cached.status, int(meta.resource_version))
        return cached if status is cached.status else msgspec.structs.replace(cached, status=status)

    async def write(self, view: Submission, standing: Standing) -> None:
        """Only what changed; fenced on the object's uid."""
        status = compute_status(view.status, standing, view.metadata.generation, self._clock.now())
        await self._writer.write(view.metadata, view.status, status)

    async def write_failure(self, view: Submission, error: Exception) -> None:
        """A pass that failed is shown where people look, and not only in a log; what was known stays."""
        status = view.status
        if status.phase in ENDED:
            return
        words = error.message if isinstance(error, MooringError) else f"an error in Mooring itself: {error!r}"
        standing = Standing(
            Phase(status.phase or Phase.PENDING),
            clean_line(f"the last reconcile failed: {words}; it is retried"),
            status.gates,
            status.steps,
            status.jobs,
            status.failure,
        )
        try:
            await self.write(view, standing)
        except KubeError as unwritten:
            log.info("a failure could not be written down", submission=view.metadata.key, error=unwritten.message)


def _as_patch(status: SubmissionStatus) -> dict[str, Any]:
    """A merge patch keeps what it does not name: what is empty has to be said."""
    empty: dict[str, Any] = {"message": "", "gates": [], "steps": [], "failure": None}
    return {**empty, **msgspec.to_builtins(status)}
