"""Events: what an actor reports about an object, counted instead of repeated.

Writing is left to a task of its own, so that no decision waits for it. As in Kubernetes, a source that talks too
much about one object is cut off: 25 at once, then one in five minutes.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Literal

import structlog

from drydock.actors.machinery.objects import Object, name_of, namespace_of, uid_of
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import EVENTS
from hawser.views.base import format_micro_time, format_time

Weight = Literal["Normal", "Warning"]

_BURST = 25.0
_REFILL_PER_SECOND = 1 / 300
_LONGEST_MESSAGE = 1024
_REMEMBERED = 4096
_log = structlog.get_logger("drydock")


@dataclass(frozen=True, slots=True)
class Note:
    """One thing said about one object."""

    about: Object
    kind: str
    api_version: str
    weight: Weight
    reason: str
    message: str
    action: str = ""  # what was being done; such notes are written and counted as events.k8s.io/v1 does

    @property
    def identity(self) -> tuple[str, ...]:
        """Notes of one identity are counted as one event."""
        namespace, name, uid = namespace_of(self.about), name_of(self.about), uid_of(self.about)
        return self.kind, namespace, name, uid, self.weight, self.reason, self.message


@dataclass(slots=True)
class _Told:
    namespace: str
    name: str
    count: int


@dataclass(slots=True)
class _Allowance:
    """A token bucket."""

    left: float = _BURST
    seen_at: float = field(default=0.0)

    def take(self, now: float) -> bool:
        self.left = min(_BURST, self.left + (now - self.seen_at) * _REFILL_PER_SECOND)
        self.seen_at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class EventRecorder:
    """Writes the events of one component."""

    def __init__(self, client: KubeClient, component: str, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._entropy = entropy
        self._notes: asyncio.Queue[Note] = asyncio.Queue()
        self._told: dict[tuple[str, ...], _Told] = {}
        self._allowances: dict[str, _Allowance] = {}

    def record(self, note: Note) -> None:
        """Say it; never waits, never fails."""
        about = uid_of(note.about) or "/".join((note.kind, namespace_of(note.about), name_of(note.about)))
        if len(self._allowances) > _REMEMBERED:
            self._allowances.clear()
        now = self._clock.monotonic()
        if self._allowances.setdefault(about, _Allowance(seen_at=now)).take(now):
            self._notes.put_nowait(note)

    async def run(self) -> None:
        """Write what was said, until cancelled."""
        while True:
            note = await self._notes.get()
            try:
                await self._write(note)
            except KubeError as error:
                _log.debug("event dropped", component=self._component, reason=note.reason, error=str(error))

    async def _write(self, note: Note) -> None:
        told = self._told.get(note.identity)
        if told is not None:
            try:
                await self._count(told, note)
                return
            except ObjectNotFound:
                del self._told[note.identity]  # events expire; say it anew
        if len(self._told) > _REMEMBERED:
            self._told.clear()
        body = self._event(note)
        await self._client.create(EVENTS.raw(), body, body["metadata"]["namespace"])
        self._told[note.identity] = _Told(body["metadata"]["namespace"], body["metadata"]["name"], 1)

    async def _count(self, told: _Told, note: Note) -> None:
        now = self._clock.now()
        patch: Object = {"count": told.count + 1, "lastTimestamp": format_time(now)}
        if note.action:
            patch = {"series": {"count": told.count + 1, "lastObservedTime": format_micro_time(now)}}
        await self._client.merge_patch(EVENTS.raw(), told.name, patch, told.namespace)
        told.count += 1

    def _event(self, note: Note) -> Object:
        now = self._clock.now()
        # Events about cluster-scoped objects live in the namespace "default".
        namespace = namespace_of(note.about) or "default"
        about = {"kind": note.kind, "apiVersion": note.api_version, "name": name_of(note.about)}
        if namespace_of(note.about):
            about["namespace"] = namespace_of(note.about)
        if uid_of(note.about):
            about["uid"] = uid_of(note.about)
        if version := note.about["metadata"].get("resourceVersion"):
            about["resourceVersion"] = version
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name_of(note.about)}.{self._entropy.token(8)}", "namespace": namespace},
            "involvedObject": about,
            "type": note.weight,
            "reason": note.reason,
            "message": _shortened(note.message),
            "reportingComponent": self._component,
        }
        if note.action:
            instance = f"{self._component}-drydock"
            newer = {"action": note.action, "eventTime": format_micro_time(now), "reportingInstance": instance}
            return {**event, **newer, "source": {}}
        stamps = {"firstTimestamp": format_time(now), "lastTimestamp": format_time(now), "count": 1}
        return {**event, **stamps, "source": {"component": self._component}, "reportingInstance": ""}


class Broadcaster:
    """The recorders of many components, run together."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._recorders: list[EventRecorder] = []

    def recorder(self, component: str) -> EventRecorder:
        recorder = EventRecorder(self._client, component, self._clock, self._entropy)
        self._recorders.append(recorder)
        return recorder

    async def run(self) -> None:
        """Write what the components said, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for recorder in self._recorders:
                group.create_task(recorder.run())


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 4] + " ..."
