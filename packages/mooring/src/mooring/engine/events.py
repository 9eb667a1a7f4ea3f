"""Events that people see with `kubectl describe`: written in the background, each once, and not too many."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import structlog

from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import AlreadyExists, KubeError
from hawser.resources import EVENTS
from hawser.views import format_time
from mooring.engine.containment import contained
from mooring.engine.metrics import EVENTS_DROPPED
from mooring.model.audit import Subject
from mooring.model.evidence import clean_line

log = structlog.get_logger()

BURST = 5  # Events of one reason for one object, before they have to wait for each other
REFILL_SECONDS = 60.0
_COMPONENT = "mooring"
_MOST_CHARACTERS = 1024  # the API server refuses longer notes
_MOST_NAMES = 5
_MOST_WAITING = 500
_MOST_ALLOWANCES = 5_000


@dataclass(frozen=True, slots=True)
class EventNote:
    """What happened to an object. `occasion` names it: one Event is written for it, by any replica."""

    subject: Subject
    api_version: str
    reason: str  # in CamelCase, for programs
    message: str
    occasion: str
    type: Literal["Normal", "Warning"] = "Normal"


@dataclass(slots=True)
class _Allowance:
    left: float
    at: float


def summarize_acts(acts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One message for each reason, naming what was acted on: `(name, reason)` in, reason -> message out."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in acts:
        by_reason.setdefault(reason, []).append(name)
    return {reason: f"{enumerate_names(found)}: {reason}" for reason, found in by_reason.items()}


def enumerate_names(names: Sequence[str]) -> str:
    """The names in one text; of many names, the first ones and the number of the others."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(sorted(names)[:_MOST_NAMES]) + more


class EventWriter:
    """Writes core/v1 Events under names made of their occasion, so that a restart repeats nothing.

    Best effort: without the Event there are still the condition, the audit row and the log. A caller never waits. An
    object that changes all the time gets one Event of each reason a minute.
    """

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._waiting: asyncio.Queue[EventNote] = asyncio.Queue(_MOST_WAITING)
        self._allowances: dict[tuple[str, str], _Allowance] = {}

    def record(self, note: EventNote) -> None:
        """Write it soon, unless the object had too many of this reason or the API server is far behind."""
        if not self._allow(note) or self._waiting.full():
            EVENTS_DROPPED.inc()
            return
        self._waiting.put_nowait(note)

    async def run(self) -> None:
        """Write what was recorded, until cancelled."""
        while True:
            note = await self._waiting.get()
            with contained("events", subject=note.subject.name, reason=note.reason):
                await self._write(note)

    def _allow(self, note: EventNote) -> bool:
        now, key = self._clock.monotonic(), (note.subject.uid or note.subject.name, note.reason)
        if len(self._allowances) >= _MOST_ALLOWANCES:
            self._allowances.clear()
        allowance = self._allowances.setdefault(key, _Allowance(BURST, now))
        allowance.left = min(BURST, allowance.left + (now - allowance.at) / REFILL_SECONDS)
        allowance.at = now
        if allowance.left < 1:
            return False
        allowance.left -= 1
        return True

    async def _write(self, note: EventNote) -> None:
        subject, now = note.subject, format_time(self._clock.now())
        name = f"{subject.name}.{sha256(f'{note.reason}/{note.occasion}'.encode()).hexdigest()[:16]}"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": subject.namespace},
            "involvedObject": {
                "apiVersion": note.api_version,
                "kind": subject.kind,
                "namespace": subject.namespace,
                "name": subject.name,
                "uid": subject.uid,
            },
            "type": note.type,
            "reason": note.reason,
            "message": clean_line(" ".join(note.message.split()))[:_MOST_CHARACTERS],
            "source": {"component": _COMPONENT},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self._client.create(EVENTS, event, subject.namespace)
        except AlreadyExists:
            return
        except KubeError as error:
            log.info("an Event could not be written", reason=note.reason, name=subject.name, error=error.message)
