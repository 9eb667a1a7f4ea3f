"""What the pods of warm Jobs say: how far a fetch is, and the last words of one that failed."""

import re
from collections.abc import Mapping

import structlog

from mooring.clock import Clock
from mooring.control.evidence import gather_failure
from mooring.control.warming.watch import WarmupWatch
from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError
from mooring.kube.views import Pod
from mooring.model.evidence import Failure, clean_line
from mooring.model.warm_job import WarmJob, WarmPod
from mooring.model.warmup import Warmup
from mooring.planning.warmups.jobs import FETCH

log = structlog.get_logger()

POLL_SECONDS = 10.0
_MOST_POLLS = 16  # a pass
_LAST_LINES = 5
_PERCENT = re.compile(r"(?<![\d.])(100(?:\.0+)?|\d{1,2}(?:\.\d+)?)\s?%")


class WarmEvidence:
    """Reads logs, seldom. All it remembers may be lost."""

    def __init__(self, client: KubeClient, watch: WarmupWatch, clock: Clock) -> None:
        self._client = client
        self._watch = watch
        self._clock = clock
        self._progress: dict[str, dict[str, float]] = {}  # by Warmup and the Job's uid
        self._polled_at: dict[str, dict[str, float]] = {}

    def progress(self, key: str) -> Mapping[str, float]:
        """How far each fetch of a Warmup is, 0 to 1, by the Job's uid."""
        return self._progress.get(key, {})

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._progress.pop(key, None)
        self._polled_at.pop(key, None)

    async def poll(self, warmup: Warmup, fetching: tuple[WarmJob, ...]) -> bool:
        """Ask running fetches how far they are, each every ten seconds; True when one has moved."""
        uids = {job.uid for job in fetching}
        asked = {uid: at for uid, at in self._polled_at.get(warmup.key, {}).items() if uid in uids}
        far = {uid: share for uid, share in self._progress.get(warmup.key, {}).items() if uid in uids}
        self._polled_at[warmup.key], self._progress[warmup.key] = asked, far
        now = self._clock.monotonic()
        pods = self._watch.pods(warmup)
        due = [uid for uid in uids if uid in pods and now - asked.get(uid, -POLL_SECONDS) >= POLL_SECONDS]
        moved = False
        for uid in sorted(due)[:_MOST_POLLS]:
            asked[uid] = now
            found = await self._read_progress(pods[uid])
            if found is not None and found != far.get(uid):
                far[uid] = found
                moved = True
        return moved

    async def last_words(self, warmup: Warmup, failing: tuple[WarmJob, ...]) -> Failure | None:
        """The evidence of the first shard that failed; what was gathered of the same restart already is kept."""
        known = warmup.status.failure
        for job in failing:
            pod = self._watch.pods(warmup).get(job.uid)
            view = self._watch.pod_view(pod) if pod is not None else None
            if pod is None or view is None:
                return known or Failure(
                    container=FETCH, reason=clean_line(job.failure), logs=("its pod is gone, and its log with it",)
                )
            if known is not None and (known.pod, known.restarts) == (pod.name, pod.restarts):
                return known
            return await self._gather(view, pod, job)
        return known

    async def _gather(self, view: Pod, pod: WarmPod, job: WarmJob) -> Failure:
        statuses = (*view.status.init_container_statuses, *view.status.container_statuses)
        container = next((status for status in statuses if status.name == pod.failing), None)
        if container is None:
            return Failure(pod=pod.name, reason=clean_line(job.failure), logs=("no container has run",))
        reason = job.failure or f"{pod.failing} of {job.name} was restarted {pod.restarts} times on {job.node}"
        return await gather_failure(self._client, view, container, reason)

    async def _read_progress(self, pod: WarmPod) -> float | None:
        try:
            text = await self._client.logs(pod.name, pod.namespace, container=FETCH, tail_lines=_LAST_LINES)
        except KubeError as error:
            log.info("progress unknown", pod=pod.name, error=error.message)
            return None
        percents = _PERCENT.findall(text)
        return round(float(percents[-1]) / 100, 2) if percents else None
