"""How long a Job waits before it replaces a failed pod: 10 s, doubled by each failure since the last success."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from drydock.actors.machinery.objects import (
    Object,
    condition_of,
    created_at,
    moment_of,
    optional_moment,
    spec_of,
    status_of,
)

_FIRST_SECONDS = 10.0
_LONGEST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Failures since the last success."""

    failures: int = 0
    last_failure: datetime | None = None

    def after(self, succeeded: Sequence[Object], failed: Sequence[Object]) -> "Backoff":
        """The record once these newly finished pods are counted."""
        if not succeeded:
            if not failed:
                return self
            return Backoff(self.failures + len(failed), max(finished_at(pod) for pod in failed))
        last_success = max(finished_at(pod) for pod in succeeded)
        later = [moment for pod in failed if (moment := finished_at(pod)) > last_success]
        return Backoff(len(later), max(later)) if later else Backoff()

    def remaining(self, now: datetime) -> float:
        """Seconds until the next pod may be created."""
        if self.failures == 0 or self.last_failure is None:
            return 0.0
        delay = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(self.failures - 1, 16))
        return max(0.0, delay - (now - self.last_failure).total_seconds())


def finished_at(pod: Object) -> datetime:
    """When the pod ended: its last container, else since when it is not ready, else when its deletion began."""
    containers = _containers_finished_at(pod)
    if containers is not None:
        return containers
    ready = condition_of(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return moment_of(ready["lastTransitionTime"])
    metadata = pod["metadata"]
    deletion = optional_moment(metadata.get("deletionTimestamp"))
    if deletion is not None:
        return deletion - timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return created_at(pod)


def _containers_finished_at(pod: Object) -> datetime | None:
    status = status_of(pod)
    sidecars = {one["name"] for one in spec_of(pod).get("initContainers") or () if one.get("restartPolicy") == "Always"}
    statuses: list[Object] = list(status.get("containerStatuses") or ())
    statuses += [one for one in status.get("initContainerStatuses") or () if one.get("name") in sidecars]
    latest: datetime | None = None
    for one in statuses:
        terminated = (one.get("state") or {}).get("terminated") or {}
        moment = optional_moment(terminated.get("finishedAt"))
        if moment is None:
            return None
        latest = moment if latest is None else max(latest, moment)
    return latest
