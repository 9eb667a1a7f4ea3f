"""Autoscalers that would scale a pool whose floor follows demand: read once a minute, for such pools only."""

from collections.abc import Collection

import structlog

from hawser import views
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError, NotServed, ObjectNotFound
from hawser.resources import Resource
from mooring.kinds.resources import is_worker_pool
from mooring.model.pool import Pool

log = structlog.get_logger()

READ_SECONDS = 60.0
_KIND = "HorizontalPodAutoscaler"
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", _KIND, True, views.PartialObject)


class Autoscalers:
    """HorizontalPodAutoscalers by the pool that they name. KEDA makes one for each of its ScaledObjects.

    What cannot be read stays as it was: the API server refuses their writes in any case.
    """

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._found: dict[tuple[str, str], tuple[str, ...]] = {}  # by namespace and pool
        self._read_at: float | None = None

    def of_pool(self, pool: Pool) -> tuple[str, ...]:
        """Their names, as of the last minute."""
        return self._found.get((pool.namespace, pool.name), ())

    async def read(self, namespaces: Collection[str]) -> None:
        """Look into the namespaces of pools with demand, if the last look is old enough."""
        now = self._clock.monotonic()
        if not namespaces or (self._read_at is not None and now - self._read_at < READ_SECONDS):
            return
        self._read_at = now
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        try:
            for namespace in sorted(namespaces):
                for body in (await self._client.list(AUTOSCALERS.raw(), namespace)).items:
                    target = body["spec"]["scaleTargetRef"]
                    if is_worker_pool(target["kind"], target.get("apiVersion", "")):
                        key = (namespace, target["name"])
                        found[key] = (*found.get(key, ()), body["metadata"]["name"])
        except (NotServed, ObjectNotFound):  # the cluster has no such kind
            found = {}
        except KubeError as error:
            log.warning("autoscalers were not read", error=error.message)
            return
        self._found = found
