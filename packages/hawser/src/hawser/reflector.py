"""Keeps a cache true to the cluster: lists once, then follows the watch, through everything that can go wrong with it.

A 410, as a status or inside the stream, means a new list, whose differences are reported as changes, deletions
included. A watch that says nothing, not even a bookmark, counts as broken. A list older than what is held comes from a
server that lags, or from a cluster restored from a backup: it is refused, and tried again, so that nothing is deleted
or set back by an older view. After a restore that sets the version of the cluster back, restart.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final, Generic, TypeVar

import structlog

from hawser.backoff import Backoff
from hawser.cache import Cache, Change, Identity, Index, Key, identify
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import ApiError, BadRequest, ConnectionFailed, Gone, KubeError, TooNew
from hawser.reflector_health import ReflectorHealth
from hawser.resources import Resource
from hawser.watching import WatchEvent

T = TypeVar("T")

_log = structlog.get_logger(__name__)

_HASTY_WATCH_SECONDS: Final = 1.0
_LONGEST_RETRY_AFTER_SECONDS: Final = 60.0
_OVERTIME_SECONDS: Final = 30.0  # that a watch may outlive the end it was asked to have
_ALARM_STEPS: Final = 10
_DEFECTS_SHOWN: Final = 20


class StaleList(KubeError):
    """A list is older than what is held already, or mixes versions."""

    code = "kubernetes_stale_list"


class SilentWatch(KubeError):
    """A watch is open and says nothing, not even a bookmark."""

    code = "kubernetes_silent_watch"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects of a resource are followed; everywhere and all of them unless said otherwise."""

    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    page_size: int = 500  # of a list


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient a reflector is."""

    silence_seconds: float = 150.0  # bookmarks come about once a minute
    watch_seconds: tuple[float, float] = (
        300.0,
        600.0,
    )  # asked of the server; random, so that watches do not end together
    relist_seconds: float = 3600.0  # a list now and then finds what a watch has lost
    retry_seconds: tuple[float, float] = (0.8, 30.0)  # the first and the last ceiling of the wait after a failure


class Reflector(Generic[T]):
    """One resource, one cache. `run` it in a task; `subscribe` to hear of each change."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource[T],
        *,
        clock: Clock,
        entropy: Entropy,
        scope: Scope = Scope(),
        indexes: Mapping[str, Index[T]] = {},
        pace: Pace = Pace(),
    ) -> None:
        self.cache: Cache[T] = Cache(indexes)
        self._client = client
        self._resource = resource
        self._clock = clock
        self._entropy = entropy
        self._scope = scope
        self._pace = pace
        first, last = pace.retry_seconds
        self._backoff = Backoff(entropy, first_seconds=first, last_seconds=last)
        self._subscribers: list[Callable[[Change[T]], None]] = []
        self._synced = asyncio.Event()
        self._position = 0
        self._must_list = True
        self._doubted = False  # the last watch was silent for too long
        self._list_due = 0.0
        self._watching = False
        self._followed_until = 0.0  # while no watch is open: when the cache was last known to be current
        self._last_event_at: float | None = None
        self._last_error = ""
        self._lists = 0
        self._watches = 0
        self._silences = 0
        self._stale_lists = 0
        self._skipped = 0
        self._defects: dict[Key, tuple[str, ...]] = {}
        self._subscriber_failures = 0
        self._log = _log.bind(resource=resource.plural, namespace=scope.namespace)

    @property
    def synced(self) -> bool:
        """Whether a whole list has ever been taken in."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Until a whole list has been taken in."""
        await self._synced.wait()

    @property
    def version(self) -> int:
        """How far the cache has come: every change up to this version is in it. 0 before the first list."""
        return self._position

    @property
    def stale_seconds(self) -> float:
        """For how long the cache has not followed its watch: 0 while it does, infinite before the first list."""
        if not self.synced:
            return inf
        now = self._clock.monotonic()
        if not self._watching:
            return now - self._followed_until
        return 0.0 if self._last_event_at is None else max(0.0, now - self._last_event_at - self._pace.silence_seconds)

    def subscribe(self, callback: Callable[[Change[T]], None]) -> None:
        """Call it with each change, as soon as the cache shows it. It must not wait."""
        self._subscribers.append(callback)

    @property
    def health(self) -> ReflectorHealth:
        age = None if self._last_event_at is None else self._clock.monotonic() - self._last_event_at
        return ReflectorHealth(
            synced=self.synced,
            watching=self._watching,
            silent=age is None or age >= self._pace.silence_seconds,
            last_event_age_seconds=age,
            last_error=self._last_error,
            relists=max(0, self._lists - 1),
            reconnects=max(0, self._watches - 1),
            silences=self._silences,
            stale_lists=self._stale_lists,
            skipped=self._skipped,
            defective={"/".join(key): self._defects[key] for key in list(self._defects)[:_DEFECTS_SHOWN]},
            subscriber_failures=self._subscriber_failures,
        )

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                if self._must_list or self._clock.monotonic() >= self._list_due:
                    await self._list()
                await self._watch()
            except KubeError as error:
                self._note_failure(error)
                await self._clock.sleep(self._wait_after(error))
            except Exception as error:  # noqa: BLE001 - an answer that no code expects must not end the cache for good
                self._log.exception("list or watch failed unexpectedly")
                self._last_error = repr(error)
                self._must_list = True
                await self._clock.sleep(self._backoff.next_seconds())

    # -- listing

    async def _list(self) -> None:
        items, version = await self._read_all_pages()
        if version < self._position:
            raise StaleList(
                f"{self._resource.plural} listed at version {version}, held at {self._position}",
                fix="wait for the API server to catch up; if the cluster was restored from a backup, restart",
            )
        skipped_before = self._skipped
        listed: dict[Key, tuple[Identity, T]] = {}
        for item in items:
            if (identity := self._identified(item)) is not None:
                listed[identity.key] = (identity, item)
        # An item that nobody can name may be any of those that seem to be missing.
        changes = self.cache.replace(listed, version, whole=self._skipped == skipped_before)
        self._defects = {key: defects for key, defects in self._defects.items() if key in self.cache}
        self._position = version
        self._lists += 1
        self._must_list = False
        self._list_due = self._clock.monotonic() + self._pace.relist_seconds * self._entropy.between(0.8, 1.2)
        if not (self._doubted and changes):  # a silent watch that missed nothing was quiet, not deaf
            self._last_event_at = self._clock.monotonic()
        self._followed_until = self._clock.monotonic()
        self._doubted = False
        self._tell(changes)
        self._synced.set()

    async def _read_all_pages(self) -> tuple[list[T], int]:
        # No version is asked for: unset means the newest there is, 0 what the server has at hand, however old.
        items: list[T] = []
        versions: set[str] = set()
        token = ""
        while True:
            page = await self._client.list_page(
                self._resource,
                self._scope.namespace,
                label_selector=self._scope.label_selector,
                field_selector=self._scope.field_selector,
                limit=self._scope.page_size,
                continue_token=token,
            )
            items += page.items
            versions.add(page.resource_version)
            token = page.continue_token
            if not token:
                break
        version = versions.pop()
        if versions or not version.isdecimal():
            raise StaleList(f"pages of {self._resource.plural} are of versions {sorted({version, *versions})}")
        return items, int(version)

    # -- watching

    async def _watch(self) -> None:
        began = self._clock.monotonic()
        seconds = self._entropy.between(*self._pace.watch_seconds)
        self._watches += 1
        position = self._position
        try:
            await self._follow(began + seconds + _OVERTIME_SECONDS, seconds)
        finally:
            if self._watching:
                self._followed_until = self._clock.monotonic()
            self._watching = False
        ended = self._clock.monotonic()
        if position == self._position and ended - began < _HASTY_WATCH_SECONDS:
            raise ConnectionFailed(f"the watch of {self._resource.plural} ended as soon as it began")
        self._last_event_at = ended  # an orderly end comes after all events
        self._backoff.reset()

    async def _follow(self, last_end: float, seconds: float) -> None:
        watch = self._client.watch(
            self._resource,
            self._scope.namespace,
            resource_version=str(self._position),
            label_selector=self._scope.label_selector,
            field_selector=self._scope.field_selector,
            timeout_seconds=int(seconds),
        )
        loop = asyncio.get_running_loop()
        silence = self._pace.silence_seconds
        move_alarm_at = 0.0
        try:
            async with asyncio.timeout(silence) as alarm, watch as events:
                self._watching = True
                self._last_error = ""
                async for event in events:
                    self._receive(event)
                    now = self._last_event_at = self._clock.monotonic()
                    if now >= move_alarm_at:  # not at every event: moving a timer costs more than reading an event
                        alarm.reschedule(loop.time() + silence)
                        move_alarm_at = now + silence / _ALARM_STEPS
                    if now >= last_end:
                        return
        except TimeoutError:
            self._silences += 1
            raise SilentWatch(
                f"the watch of {self._resource.plural} was silent for {silence} s",
                fix="look for a proxy or a load balancer that drops quiet connections",
            ) from None

    def _receive(self, event: WatchEvent[T]) -> None:
        if event.type == "BOOKMARK":
            if event.resource_version.isdecimal():
                self._position = max(self._position, int(event.resource_version))
        elif (identity := self._identified(event.object)) is not None:
            if event.type == "DELETED":
                changes = self.cache.remove(event.object, identity)
                self._defects.pop(identity.key, None)
            else:
                changes = self.cache.put(event.object, identity)
            if identity.version > self._position:
                self._position = identity.version
            self._tell(changes)
        self._backoff.reset()

    # -- what both need

    def _identified(self, item: T) -> Identity | None:
        identity = identify(item)
        if identity is None:
            self._skipped += 1
            self._log.error("object skipped", defects=_defects_of(item))
            return None
        defects = _defects_of(item)
        if defects:
            self._defects[identity.key] = defects
        elif self._defects:
            self._defects.pop(identity.key, None)
        return identity

    def _tell(self, changes: Iterable[Change[T]]) -> None:
        for change in changes:
            for subscriber in self._subscribers:
                try:
                    subscriber(change)
                except Exception:  # noqa: BLE001 - a listener must not stop the others, nor the cache
                    self._subscriber_failures += 1
                    self._log.exception("a subscriber failed", change=change.kind)

    def _note_failure(self, error: KubeError) -> None:
        # 400 to a watch means that its version is not understood: like 410, only a list helps.
        self._must_list |= isinstance(error, (Gone, TooNew, BadRequest))
        if isinstance(error, SilentWatch):
            # An API server sends no bookmarks for a kind that never changed. Only a list shows what was missed.
            self._must_list = self._doubted = True
            self._followed_until = self._last_event_at or self._followed_until
        self._stale_lists += isinstance(error, StaleList)
        self._last_error = str(error)
        self._log.warning("list or watch failed", error=str(error), kind=type(error).__name__)

    def _wait_after(self, error: KubeError) -> float:
        if isinstance(error, SilentWatch):
            return 0.0  # the silence was wait enough
        wait = self._backoff.next_seconds()
        if isinstance(error, ApiError) and error.retry_after_seconds is not None:
            wait += min(error.retry_after_seconds, _LONGEST_RETRY_AFTER_SECONDS)
        return wait


def _defects_of(item: Any) -> tuple[str, ...]:
    return getattr(item, "defects", ())
