"""Pages that play outages, without and with protection side by side. `mooring up` has them; a cluster has not."""

from collections.abc import Sequence
from typing import Protocol

import msgspec
from litestar import Response, get
from litestar.params import SkipValidation
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import AUTHENTICATED
from mooring.dashboard.responses import page_response
from mooring.model.errors import NotFound
from mooring.model.suggestions import suggest

STATES = ("idle", "busy", "starting", "draining", "done", "failed")
"""The states of the cells of a recording."""


class ReplayEntry(msgspec.Struct, frozen=True):
    """A replay, and the invariants that prevent its outage."""

    name: str
    title: str
    story: str
    protections: tuple[str, ...]


class Replays(Protocol):
    """Where recordings come from."""

    def entries(self) -> Sequence[ReplayEntry]:
        """All replays."""
        ...

    async def recording(self, name: str) -> bytes:
        """Events, maps and figures of both halves, as JSON. The first reader of a replay waits until it is played."""
        ...


GivenReplays = SkipValidation[Replays]


@get("/replays", page="replays", access=AUTHENTICATED, include_in_schema=False, sync_to_thread=False)
def replays_page(replays: GivenReplays) -> Response[str]:
    """The replays that can be played."""
    return page_response("replays.html", entries=replays.entries(), here="replays")


@get("/replays/{replay:str}", page="replays", access=AUTHENTICATED, include_in_schema=False, sync_to_thread=False)
def replay_page(replays: GivenReplays, replay: str) -> Response[str]:
    """The player of one replay."""
    entries = replays.entries()
    return page_response(
        "replay.html", entry=_find(entries, replay), entries=entries, states=STATES, here="replay", section="replays"
    )


@get("/replays/{replay:str}/recording.json", access=AUTHENTICATED, include_in_schema=False)
async def replay_recording(replays: GivenReplays, replay: str) -> Response[bytes]:
    """What the player plays."""
    entry = _find(replays.entries(), replay)
    return Response(await replays.recording(entry.name), media_type="application/json")


def _find(entries: Sequence[ReplayEntry], name: str) -> ReplayEntry:
    for entry in entries:
        if entry.name == name:
            return entry
    raise NotFound(f"there is no replay {name!r}", fix=suggest(name, [entry.name for entry in entries], "replays"))


REPLAY_PAGES: list[ControllerRouterHandler] = [replays_page, replay_page, replay_recording]
