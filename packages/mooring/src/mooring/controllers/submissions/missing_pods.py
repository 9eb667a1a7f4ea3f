"""Jobs whose pods nobody makes: the Job controller says why only in events (a missing account, a quota, a webhook)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hawser.errors import KubeError
from hawser.resources import EVENTS
from hawser.views import Event, Job
from mooring.controllers.submissions.informer import SubmissionInformer
from mooring.engine.context import Context
from mooring.model.evidence import clean_line

LOOK_SECONDS = 5.0
_SELECTOR = "involvedObject.kind=Job,reason=FailedCreate,type=Warning"
_MOST_EVENTS = 500


@dataclass(slots=True)
class _Look:
    """The last look at the events of one submission's Jobs."""

    at: float = float("-inf")
    words: dict[str, str] = field(default_factory=dict)  # by the Job's uid


class MissingPods:
    """One request for all Jobs of a submission, at most once a tick, and none while every Job has its pod."""

    def __init__(self, context: Context, informer: SubmissionInformer) -> None:
        self._client = context.client
        self._clock = context.clock
        self._informer = informer
        self._looks: dict[str, _Look] = {}

    def forget(self, key: str) -> None:
        """The submission has ended, or is gone."""
        self._looks.pop(key, None)

    async def read(self, key: str, jobs: Iterable[Job]) -> Mapping[str, str]:
        """Why a Job has no pod, by the Job's uid; what cannot be read now is as it was last time."""
        podless = [job for job in jobs if self._is_podless(job)]
        if not podless:
            self.forget(key)
            return {}
        look, now = self._looks.setdefault(key, _Look()), self._clock.monotonic()
        if now - look.at >= LOOK_SECONDS:
            look.at = now
            try:
                page = await self._client.list_page(
                    EVENTS, podless[0].metadata.namespace, field_selector=_SELECTOR, limit=_MOST_EVENTS
                )
            except KubeError:
                return look.words
            look.words = {job.metadata.uid: words for job in podless if (words := self._words(job, page.items))}
        return look.words

    def _is_podless(self, job: Job) -> bool:
        """A young Job's pod may be on its way."""
        created = job.metadata.creation_timestamp
        young = created is not None and (self._clock.now() - created).total_seconds() < LOOK_SECONDS
        return not (young or job.complete or job.failed or job.terminating or job.status.active)

    def _words(self, job: Job, events: Iterable[Event]) -> str:
        """The newest that is said of this Job since its last pod was made."""
        meta = job.metadata
        made = [pod.metadata.creation_timestamp for pod in self._informer.pods(meta.namespace, meta.name)]
        newest_pod = max((moment for moment in made if moment), default=None)
        message = [
            (event.last_seen, event.message)
            for event in events
            if event.involved_object.uid == meta.uid and event.last_seen is not None
        ]
        newest = max(message, default=None)
        if newest is None or (newest_pod is not None and newest[0] <= newest_pod):
            return ""
        # Each attempt has another name: with it the same reason would be news every time.
        steady = re.sub(rf'"{re.escape(meta.name)}-[a-z0-9]+" ', "", newest[1])
        return clean_line(f"no pod can be made: {steady}")
