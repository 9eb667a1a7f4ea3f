"""Events that people see with `kubectl describe`: said once each, and never worth failing for."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import structlog

from mooring.clock import Clock
from mooring.kube.client import KubeClient
from mooring.kube.errors import AlreadyExists, KubeError
from mooring.kube.resources import EVENTS
from mooring.kube.views import format_time
from mooring.model.audit import Subject

log = structlog.get_logger()

_COMPONENT = "mooring"


@dataclass(frozen=True, slots=True)
class Announcement:
    """What happened to an object. `occasion` names it: the same one is said once, whoever says it."""

    subject: Subject
    api_version: str
    reason: str  # in CamelCase, for programs
    message: str
    occasion: str
    type: Literal["Normal", "Warning"] = "Normal"


class Announcer:
    """Writes core/v1 Events under names made of their occasion, so that a restart repeats nothing."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def announce(self, what: Announcement) -> None:
        """Best effort: without the Event there are still the condition and the log."""
        subject, now = what.subject, format_time(self._clock.now())
        name = f"{subject.name}.{sha256(f'{what.reason}/{what.occasion}'.encode()).hexdigest()[:16]}"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": subject.namespace},
            "involvedObject": {
                "apiVersion": what.api_version,
                "kind": subject.kind,
                "namespace": subject.namespace,
                "name": subject.name,
                "uid": subject.uid,
            },
            "type": what.type,
            "reason": what.reason,
            "message": what.message,
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
            log.info("an event could not be written", reason=what.reason, name=subject.name, error=error.message)
