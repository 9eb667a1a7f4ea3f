"""Listing the Jobs that a Warmup adopts: in its own namespace, by its selector, every half minute."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from hawser.errors import KubeError
from hawser.resources import JOBS
from hawser.views import OwnerReference
from mooring.controllers.warmups.translation import adopted_from_view
from mooring.engine.context import Context
from mooring.model.warmup import Warmup, check_spec
from mooring.planning.warmups.adoption import AdoptedJobs

log = structlog.get_logger()

LIST_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Listing:
    generation: int
    at: float
    found: AdoptedJobs


class WarmAdoption:
    """Lists adopted Jobs, and keeps each list until the next one is due. Deletes carry the uid that was listed."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._listings: dict[str, _Listing] = {}

    def forget(self, key: str) -> None:
        """List anew at the next look: the Warmup is gone, or one of the Jobs is."""
        self._listings.pop(key, None)

    def due_at(self, warmup: Warmup) -> datetime | None:
        """When to look again."""
        return self._clock.now() + timedelta(seconds=LIST_SECONDS) if warmup.spec.adopt is not None else None

    async def read(self, warmup: Warmup) -> AdoptedJobs:
        """The Jobs that match; none while the spec is wrong or they cannot be listed."""
        adopt = warmup.spec.adopt
        if adopt is None or warmup.defects or check_spec(warmup.spec):
            return AdoptedJobs()
        known, now = self._listings.get(warmup.key), self._clock.monotonic()
        if known is not None and known.generation == warmup.generation and now - known.at < LIST_SECONDS:
            return known.found
        found = await self._list(warmup, adopt.selector)
        self._listings[warmup.key] = _Listing(warmup.generation, now, found)
        return found

    async def _list(self, warmup: Warmup, selector: str) -> AdoptedJobs:
        try:
            listed = (await self._client.list(JOBS, warmup.namespace, label_selector=selector)).items
        except KubeError as error:
            log.warning("adopted Jobs could not be listed", warmup=warmup.key, error=error.message)
            return AdoptedJobs(selector, error=error.message)
        jobs = (job for job in listed if job.metadata.creation_timestamp is not None)
        own = tuple(adopted_from_view(job, selector) for job in jobs if not _is_own(job.metadata.controller, warmup))
        return AdoptedJobs(selector, own)


def _is_own(controller: OwnerReference | None, warmup: Warmup) -> bool:
    return controller is not None and controller.uid == warmup.uid
