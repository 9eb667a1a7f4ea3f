"""Writing the status of an object, unless it is written already; changes of its conditions become Events."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import ObjectConflict, ObjectNotFound
from hawser.resources import Resource
from hawser.views import format_time
from mooring.engine.events import EventNote, EventWriter
from mooring.model.audit import Subject
from mooring.model.why import Condition
from mooring.planning.transitions import compute_transitions


class Status(Protocol):
    """What every status has."""

    @property
    def conditions(self) -> tuple[Condition, ...]: ...


S = TypeVar("S", bound=Status)

_BELIEVED_SECONDS = 300.0  # as long as other own writes that the watch does not show (`expectations`)


class Owner(Protocol):
    """The object whose status it is."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def uid(self) -> str: ...

    @property
    def key(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Pause(Generic[S]):
    """Statuses that say the same `verdict` are written at most once in so many seconds."""

    seconds: float
    verdict: Callable[[S], Any]


@dataclass(frozen=True, slots=True)
class _Written(Generic[S]):
    status: S
    version: int  # of the object after the write: the cache may lag behind it
    at: float


class StatusWriter(Generic[S]):
    """The one writer of a kind's statuses.

    Each write is fenced on the object's uid and on the version that the decision was made from: a leader that was
    replaced in the meantime overwrites nothing. A conflict is raised; the change that caused it brings the key back.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource[Any],
        clock: Clock,
        events: EventWriter,
        *,
        pause: Pause[S] | None = None,
        encode: Callable[[S], dict[str, Any]] = msgspec.to_builtins,
    ) -> None:
        self._client = client
        self._resource = resource
        self._clock = clock
        self._events = events
        self._pause = pause
        self._encode = encode
        self._written: dict[str, _Written[S]] = {}
        self._versions: dict[str, int] = {}  # of the objects as they were last read or written here
        self._shown: dict[str, int] = {}  # of the objects as the cache showed them last

    def latest(self, key: str, cached: S, version: int) -> S:
        """The cached status of an object at that version; or the one written here, while the cache lags behind it.

        A cache only goes back with its cluster, to a backup, and what was written here since is lost.
        """
        if version < self._shown.get(key, 0) or self._is_overdue(key, version):
            self._written.pop(key, None)
        self._shown[key] = version
        written = self._written.get(key)
        self.saw(key, version if written is None else max(version, written.version))
        return cached if written is None or version >= written.version else written.status

    def saw(self, key: str, version: int) -> None:
        """The object was read or written at that version."""
        self._versions[key] = version

    async def write(self, owner: Owner, known: S, status: S) -> datetime | None:
        """Write what differs from `known`. Answers when to write what is not written now."""
        if known == status:
            return None
        left = self._left(owner.key, known, status)
        if left > 0:
            return self._clock.now() + timedelta(seconds=left)
        fence = {"uid": owner.uid, "resourceVersion": str(self._versions[owner.key])}
        body = {"metadata": fence, "status": self._encode(status)}
        try:
            view = await self._client.merge_patch(
                self._resource, owner.name, body, owner.namespace, subresource="status"
            )
        except ObjectNotFound:
            return None
        except ObjectConflict:
            # Not what was written here any more; a cluster that was restored never comes back to that version.
            self._written.pop(owner.key, None)
            raise
        version = view.metadata.version
        self.saw(owner.key, version)
        self._written[owner.key] = _Written(status, version, self._clock.monotonic())
        self._announce(owner, known, status)
        return None

    def forget(self, key: str) -> None:
        """The object is gone."""
        self._written.pop(key, None)
        self._versions.pop(key, None)
        self._shown.pop(key, None)

    def _is_overdue(self, key: str, version: int) -> bool:
        """Whether the cache should show the last write by now: the cluster may have gone back to what it shows."""
        written = self._written.get(key)
        if written is None or version >= written.version:
            return False
        return self._clock.monotonic() - written.at >= _BELIEVED_SECONDS

    def _announce(self, owner: Owner, known: S, status: S) -> None:
        resource = self._resource
        subject = Subject(resource.kind, owner.namespace, owner.name, owner.uid)
        now = format_time(self._clock.now())
        for change in compute_transitions(known.conditions, status.conditions):
            condition = change.condition
            self._events.record(
                EventNote(
                    subject=subject,
                    api_version=resource.api_version,
                    reason=condition.reason,
                    message=condition.message or f"{condition.type} is {condition.status}",
                    occasion=f"{condition.type}/{condition.status}/{now}",
                    type="Warning" if change.warning else "Normal",
                )
            )

    def _left(self, key: str, known: S, status: S) -> float:
        """How long a status that brings no new verdict has to wait."""
        written, pause = self._written.get(key), self._pause
        if written is None or pause is None or pause.verdict(known) != pause.verdict(status):
            return 0.0
        return written.at + pause.seconds - self._clock.monotonic()
