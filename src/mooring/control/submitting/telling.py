"""Writing down how a submission stands, and remembering it until the cache shows it."""

from typing import Any

import msgspec
import structlog

from mooring.clock import Clock
from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError, ObjectNotFound
from mooring.kube.resources import SUBMISSIONS
from mooring.kube.views import Submission
from mooring.model.errors import MooringError
from mooring.model.evidence import clean_line
from mooring.model.submission import ENDED, Phase, SubmissionStatus
from mooring.planning.submissions.status import Standing, compute_status

log = structlog.get_logger()


class Telling:
    """The one writer of statuses."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._written: dict[str, tuple[SubmissionStatus, int]] = {}  # by key, with the object's version after it

    def forget(self, key: str) -> None:
        """The submission has ended, or is gone."""
        self._written.pop(key, None)

    def latest(self, cached: Submission) -> Submission:
        """As the cache shows it, or as it was written here when the cache lags behind."""
        status, version = self._written.get(cached.metadata.key, (None, 0))
        if status is None or int(cached.metadata.resource_version) >= version:
            return cached
        return msgspec.structs.replace(cached, status=status)

    async def write(self, view: Submission, standing: Standing) -> None:
        """Only what changed; fenced on the object's uid."""
        status = compute_status(view.status, standing, view.metadata.generation, self._clock.now())
        if status == view.status:
            return
        body: dict[str, Any] = {"metadata": {"uid": view.metadata.uid}, "status": _as_patch(status)}
        try:
            written = await self._client.merge_patch(
                SUBMISSIONS, view.metadata.name, body, view.metadata.namespace, subresource="status"
            )
        except ObjectNotFound:
            return
        self._written[view.metadata.key] = (status, int(written.metadata.resource_version))

    async def tell_failure(self, view: Submission, error: Exception) -> None:
        """A pass that failed is seen where people look, and not only in a log; what was known stays."""
        status = view.status
        if status.phase in ENDED:
            return
        words = error.message if isinstance(error, MooringError) else f"an error in Mooring itself: {error!r}"
        standing = Standing(
            Phase(status.phase or Phase.PENDING),
            clean_line(f"the last look failed: {words}; it is tried again"),
            status.gates,
            status.steps,
            status.jobs,
            status.failure,
        )
        try:
            await self.write(view, standing)
        except KubeError as unwritten:
            log.info("a failed pass could not be told", submission=view.metadata.key, error=unwritten.message)


def _as_patch(status: SubmissionStatus) -> dict[str, Any]:
    """A merge patch keeps what it does not name: what is empty has to be said."""
    empty: dict[str, Any] = {"message": "", "gates": [], "steps": [], "failure": None}
    return {**empty, **msgspec.to_builtins(status)}
