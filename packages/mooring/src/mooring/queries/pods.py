"""Pods read on demand: their logs, and the events about them and about other objects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from hawser import views
from hawser.clock import Clock
from hawser.errors import KubeError, NotPermitted, ObjectNotFound
from hawser.resources import EVENTS, PODS
from mooring.model.errors import Forbidden, InvalidInput, NotFound, Unavailable
from mooring.model.evidence import clean_line, clean_log
from mooring.queries.sources import ClusterSource

USUAL_LINES = 200
MOST_LINES = 1_000
MOST_EVENTS = 100
KEPT_SECONDS = 5.0
_LOG_BYTES = 512 * 1024
_ENDED = ("Succeeded", "Failed")
JOB_NAME = "batch.kubernetes.io/job-name"


class LogRequest(msgspec.Struct, frozen=True):
    """Which log: of the first container unless one is named; `previous` is that of the run before the last restart."""

    namespace: str
    pod: str
    container: str = ""
    previous: bool = False
    lines: int = USUAL_LINES


class PodLog(msgspec.Struct, frozen=True, rename="camel"):
    """The last lines of a container, without control characters and secrets; or the problem why there are none."""

    namespace: str
    pod: str
    containers: tuple[str, ...]
    container: str
    previous: bool
    restarts: int
    ended: bool
    lines: tuple[str, ...]
    problem: str = ""


class EventReading(msgspec.Struct, frozen=True, rename="camel"):
    """A Kubernetes event and the object that it is about."""

    at: datetime | None
    kind: str
    name: str
    reason: str
    message: str
    warning: bool
    count: int


class PodQueries:
    """Asks the cluster; changes nothing."""

    def __init__(self, client: ClusterSource, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._kept: dict[str, tuple[float, tuple[views.Event, ...]]] = {}  # by namespace

    async def log(self, asked: LogRequest) -> PodLog:
        """The log as it is now. `NotFound` without the pod, `InvalidInput` for a container that it does not have."""
        if not 1 <= asked.lines <= MOST_LINES:
            raise InvalidInput("lines", asked.lines, f"between 1 and {MOST_LINES}")
        pod = await self._pod(asked)
        names = tuple(one.name for one in (*pod.spec.containers, *pod.spec.init_containers))
        container = asked.container or (names[0] if names else "")
        if container not in names:
            raise InvalidInput("container", asked.container, f"one of {', '.join(names)}")
        statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
        restarts = next((one.restart_count for one in statuses if one.name == container), 0)
        lines, problem = await self._read(asked, container)
        ended = pod.status.phase in _ENDED
        return PodLog(
            asked.namespace, asked.pod, names, container, asked.previous, restarts, ended, lines, problem
        )  # fmt: skip

    async def newest_pod(self, namespace: str, job: str) -> str:
        """The name of the newest pod of a Job. `NotFound` if it has none."""
        try:
            listing = await self._client.list(PODS, namespace, label_selector=f"{JOB_NAME}={job}")
        except KubeError as error:
            raise Unavailable(f"the pods of {job} cannot be read: {clean_line(error.message)}") from error
        if not listing.items:
            raise NotFound(f"the Job {namespace}/{job} has no pod", fix="its pods are made when it starts")
        return max(listing.items, key=_created).metadata.name

    async def _pod(self, asked: LogRequest) -> views.Pod:
        try:
            return await self._client.get(PODS, asked.pod, asked.namespace)
        except ObjectNotFound:
            fix = f"kubectl -n {asked.namespace} get pods"
            raise NotFound(f"there is no pod {asked.namespace}/{asked.pod}", fix=fix) from None
        except NotPermitted as refused:
            raise Forbidden(refused.message, fix="pods: get is missing; `mooring install` prints the roles") from None
        except KubeError as error:
            raise Unavailable(f"the pod cannot be read: {clean_line(error.message)}") from error

    async def _read(self, asked: LogRequest, container: str) -> tuple[tuple[str, ...], str]:
        try:
            text = await self._client.logs(
                asked.pod,
                asked.namespace,
                container=container,
                previous=asked.previous,
                tail_lines=asked.lines,
                limit_bytes=_LOG_BYTES,
            )
        except KubeError as error:  # a container that has not started has no log
            return (), clean_line(error.message)
        return clean_log(text, asked.lines), ""

    async def events(self, namespace: str, concerns: Callable[[str, str], bool]) -> list[EventReading]:
        """Recent events of a namespace about objects for which `concerns(kind, name)` holds, newest first."""
        found = [
            _read_event(event)
            for event in await self._events(namespace)
            if concerns(event.involved_object.kind, event.involved_object.name)
        ]
        return sorted(found, key=lambda event: event.at.timestamp() if event.at else 0.0, reverse=True)[:MOST_EVENTS]

    async def _events(self, namespace: str) -> tuple[views.Event, ...]:
        now = self._clock.monotonic()
        read_at, kept = self._kept.get(namespace, (None, ()))
        if read_at is not None and now - read_at < KEPT_SECONDS:
            return kept
        try:
            fresh = tuple((await self._client.list_page(EVENTS, namespace, limit=500)).items)
        except KubeError as error:
            raise Unavailable(f"events cannot be read: {clean_line(error.message)}") from error
        self._kept = {key: old for key, old in self._kept.items() if now - old[0] < KEPT_SECONDS}
        self._kept[namespace] = (now, fresh)
        return fresh


def _created(pod: views.Pod) -> float:
    created = pod.metadata.creation_timestamp
    return created.timestamp() if created else 0.0


def _read_event(event: views.Event) -> EventReading:
    about = event.involved_object
    count = max(event.count, event.series.count if event.series else 0, 1)
    message = clean_line(event.message)
    return EventReading(event.last_seen, about.kind, about.name, event.reason, message, event.type == "Warning", count)
