"""Live pages: each distinct view is rendered once per tick, and only changed fragments are sent to its tabs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import structlog

from hawser.clock import Clock
from mooring.dashboard.claim_pages import claim_fragments
from mooring.dashboard.fleet_views import fleet_fragments
from mooring.dashboard.inspection_views import node_fragments, worker_fragments
from mooring.dashboard.pool_views import pool_fragments
from mooring.dashboard.reader import NOBODY, Reader
from mooring.dashboard.service_views import services_fragments
from mooring.dashboard.submission_views import submissions_fragments
from mooring.dashboard.views import (
    Fragments,
    Selection,
    audit_fragments,
    claims_fragments,
    invariants_fragments,
    render,
)
from mooring.dashboard.warmup_views import warmups_fragments
from mooring.model.errors import InvalidInput, MooringError
from mooring.queries.events import EventHub
from mooring.queries.overview import read_overview
from mooring.queries.readings import Readings
from mooring.queries.visibility import Visibility

log = structlog.get_logger()

Renderer = Callable[[Readings, Selection, Reader], Awaitable[Fragments]]

RENDERERS: dict[str, Renderer] = {
    "fleet": fleet_fragments,
    "pool": pool_fragments,
    "claim": claim_fragments,
    "claims": lambda of, selection, reader: claims_fragments(of.fleet, selection, reader.may),
    "warmups": lambda of, selection, reader: warmups_fragments(of.warmups, selection, reader.may),
    "submissions": lambda of, selection, reader: submissions_fragments(of.submissions, selection, reader.may),
    "services": lambda of, selection, reader: services_fragments(of.services, selection, reader.may),
    "invariants": lambda of, selection, reader: invariants_fragments(of.fleet, selection, reader.may),
    "audit": lambda of, selection, _: audit_fragments(of.fleet, selection),
    "worker": lambda of, selection, reader: worker_fragments(of.inspection, selection, reader.may),
    "node": lambda of, selection, _: node_fragments(of.inspection, selection),
}
TAB_QUEUE = 16


class View(msgspec.Struct, frozen=True):
    """What is shown to whom. Tabs with the same view share its rendering."""

    page: str
    selection: Selection
    visibility: Visibility
    reader: Reader = NOBODY


class LiveView:
    """One view, its last rendering, and the tabs that show it."""

    def __init__(self, key: View, readings: Readings) -> None:
        self._render = RENDERERS[key.page]
        self._key = key
        self._readings = readings.within(key.visibility)
        self._header = readings.within(key.reader.visibility)
        self._fragments: dict[str, str] = {}
        self.tabs: set[asyncio.Queue[bytes]] = set()

    async def refresh(self) -> None:
        """Render the view again and send the changes."""
        fresh = {**await self._render(self._readings, self._key.selection, self._key.reader), **self._strip()}
        changed = {name: html for name, html in fresh.items() if self._fragments.get(name) != html}
        gone = [name for name in self._fragments if name not in fresh]
        boxes_moved = bool(gone) or any(name not in self._fragments for name in fresh)
        known, self._fragments = bool(self._fragments), fresh
        if not known:
            return
        if boxes_moved:
            self._send(_event("reload", {}))
        elif changed:
            self._send(_event("fragments", changed))
        else:
            self.beat()  # something else changed; without a message the connection would look lost

    def _strip(self) -> Fragments:
        return {"strip": render("_strip.html", strip=read_overview(self._header.fleet))}

    async def everything(self) -> bytes:
        """All fragments, for a new tab."""
        if not self._fragments:
            await self.refresh()
        return _event("fragments", self._fragments)

    def beat(self) -> None:
        """Send a heartbeat to the tabs."""
        self._send(_event("beat", {}))

    def _send(self, message: bytes) -> None:
        for tab in self.tabs:
            if tab.full():
                while not tab.empty():
                    tab.get_nowait()
                tab.put_nowait(_event("reload", {}))
            else:
                tab.put_nowait(message)


def _event(name: str, fragments: dict[str, str]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(fragments))


class LiveViews:
    """All views that are open in some tab, each rendered once for all readers that see the same."""

    def __init__(self, hub: EventHub, readings: Readings, clock: Clock) -> None:
        self._hub = hub
        self._clock = clock
        self.readings = readings
        self._views: dict[View, LiveView] = {}

    async def run(self) -> None:
        """Refresh open views, at most once a second, until cancelled.

        Heartbeats refresh too, because times run out and sessions begin without a change of an object. However many
        views are open, at least half of the time is left for everything else: then they change less often.
        """
        async for _ in self._hub.listen():
            for view in list(self._views.values()):
                if view.tabs:
                    began = self._clock.monotonic()
                    await self._refresh(view)
                    await self._clock.sleep(self._clock.monotonic() - began)

    async def _refresh(self, view: LiveView) -> None:
        try:
            await view.refresh()
        except MooringError as error:
            log.warning("a live view could not be rendered", error=error.message)
        except Exception:  # an object that cannot be shown must not end the control plane
            log.exception("a live view could not be rendered")

    def watch(self, view: View, may_go_on: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
        """The messages for one tab: everything first, then changes, until its reader may not see them any more.

        `InvalidInput` for a page that is not live.
        """
        if view.page not in RENDERERS:
            raise InvalidInput("page", view.page, f"one of {', '.join(RENDERERS)}")
        return self._stream(view, may_go_on)

    async def _stream(self, key: View, may_go_on: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = LiveView(key, self.readings)
        tab: asyncio.Queue[bytes] = asyncio.Queue(TAB_QUEUE)
        view.tabs.add(tab)
        try:
            yield await view.everything()
            while True:
                message = await tab.get()
                if not await may_go_on():
                    return
                yield message
        finally:
            view.tabs.discard(tab)
            if not view.tabs:
                self._views.pop(key, None)
