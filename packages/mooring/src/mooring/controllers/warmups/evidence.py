"""What the pods of warm Jobs say: how far a fetch is, the last words of one that failed, and why there is none."""

import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec
import structlog

from hawser.errors import KubeError
from hawser.resources import EVENTS
from hawser.views import Pod
from mooring.controllers.warmups.informer import WarmupInformer
from mooring.controllers.warmups.refusals import explain_missing_pod
from mooring.engine.context import Context
from mooring.engine.evidence import gather_failure
from mooring.model.evidence import LAST_LINES, Failure, clean_line, clean_log
from mooring.model.warm_job import WarmJob, WarmPod
from mooring.model.warmup import Warmup
from mooring.planning.warmups.jobs import FETCH

log = structlog.get_logger()

T = TypeVar("T")

POLL_SECONDS = 10.0
_MOST_POLLS = 16  # a pass
_UNHEARD = ("its pod is gone, and its log with it",)
_PERCENT = re.compile(r"(?<![\d.])(100(?:\.0+)?|\d{1,2}(?:\.\d+)?)\s?%")


class WarmEvidence:
    """Reads logs, seldom. All it remembers may be lost."""

    def __init__(self, context: Context, informer: WarmupInformer) -> None:
        self._client = context.client
        self._clock = context.clock
        self._informer = informer
        self._progress: dict[str, dict[str, float]] = {}  # by Warmup and the Job's uid
        self._polled_at: dict[str, dict[str, float]] = {}
        self._hindered: dict[str, dict[str, str]] = {}
        self._looked_at: dict[str, dict[str, float]] = {}
        self._heard: dict[str, dict[str, Failure]] = {}  # what a pod said last: a Job that fails takes its log with it

    def progress(self, key: str) -> Mapping[str, float]:
        """How far each fetch of a Warmup is, 0 to 1, by the Job's uid."""
        return self._progress.get(key, {})

    def hindered(self, key: str) -> Mapping[str, str]:
        """Why Jobs of a Warmup have no pod, by the Job's uid."""
        return self._hindered.get(key, {})

    def forget(self, key: str) -> None:
        """The Warmup is gone."""
        self._hindered.pop(key, None)
        self._looked_at.pop(key, None)
        self._progress.pop(key, None)
        self._polled_at.pop(key, None)
        self._heard.pop(key, None)

    async def poll(self, warmup: Warmup, fetching: tuple[WarmJob, ...], jobs: tuple[WarmJob, ...]) -> bool:
        """Ask running fetches how far they are, each every ten seconds; True when one has moved."""
        uids = {job.uid for job in fetching}
        present = {job.uid for job in jobs}
        asked = self._polled_at[warmup.key] = _only(self._polled_at.get(warmup.key, {}), uids)
        far = self._progress[warmup.key] = _only(self._progress.get(warmup.key, {}), uids)
        heard = self._heard[warmup.key] = _only(self._heard.get(warmup.key, {}), present)
        now = self._clock.monotonic()
        pods = self._informer.pods(warmup)
        due = [uid for uid in uids if uid in pods and now - asked.get(uid, -POLL_SECONDS) >= POLL_SECONDS]
        moved = False
        for uid in sorted(due)[:_MOST_POLLS]:
            asked[uid] = now
            lines = await self._listen(pods[uid])
            if not lines:
                continue
            heard[uid] = Failure(pods[uid].name, FETCH, pods[uid].restarts, logs=lines)
            percents = _PERCENT.findall("\n".join(lines))
            found = round(float(percents[-1]) / 100, 2) if percents else 0.0
            moved = moved or found != far.get(uid, 0.0)
            far[uid] = found
        return moved

    async def look_for_pods(self, warmup: Warmup, podless: tuple[WarmJob, ...]) -> bool:
        """Ask why Jobs have no pod after ten seconds, each every ten seconds; True when there is news."""
        uids = {job.uid for job in podless}
        asked = self._looked_at[warmup.key] = _only(self._looked_at.get(warmup.key, {}), uids)
        known = self._hindered.get(warmup.key, {})
        message = self._hindered[warmup.key] = _only(known, uids)
        now = self._clock.monotonic()
        for job in podless[:_MOST_POLLS]:
            if now - asked.setdefault(job.uid, now) >= POLL_SECONDS:
                asked[job.uid] = now
                if why := await self._why_no_pod(job):
                    message[job.uid] = why
        return message != known

    async def _why_no_pod(self, job: WarmJob) -> str:
        """What the controller that makes pods said last of this Job; empty when it said nothing, or cannot be read."""
        about = f"involvedObject.uid={job.uid},reason=FailedCreate"
        try:
            found = (await self._client.list_page(EVENTS, job.namespace, field_selector=about, limit=100)).items
        except KubeError as error:
            log.info("events unknown", job=job.name, error=error.message)
            return ""
        said = [(event.last_seen, event.message) for event in found]
        latest = max(((at, message) for at, message in said if at is not None), default=None)
        return explain_missing_pod(latest[1]) if latest else ""

    async def last_words(self, warmup: Warmup, failing: tuple[WarmJob, ...]) -> Failure | None:
        """The evidence of the first shard that failed; what was gathered of the same restart already is kept."""
        known = warmup.status.failure
        for job in failing:
            pod = self._informer.pods(warmup).get(job.uid)
            view = self._informer.pod_view(pod) if pod is not None else None
            if pod is None or view is None:
                heard = self._heard.get(warmup.key, {}).get(job.uid) or Failure(logs=_UNHEARD)
                return known or msgspec.structs.replace(heard, container=FETCH, reason=clean_line(job.failure))
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

    async def _listen(self, pod: WarmPod) -> tuple[str, ...]:
        try:
            return clean_log(await self._client.logs(pod.name, pod.namespace, container=FETCH, tail_lines=LAST_LINES))
        except KubeError as error:
            log.info("progress unknown", pod=pod.name, error=error.message)
            return ()


def _only(kept: Mapping[str, T], uids: set[str]) -> dict[str, T]:
    return {uid: value for uid, value in kept.items() if uid in uids}
