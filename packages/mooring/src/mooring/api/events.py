"""`GET /v1/events`: the event stream over server-sent events."""

import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

from litestar import Request, get
from litestar.params import HeaderParameter
from litestar.response import Stream

from mooring.api.access.acts import SEE_EVERYTHING
from mooring.api.access.guard import Guard, Recheck
from mooring.queries.events import EventHub
from mooring.queries.visibility import Visibility

_EVENT_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


@get(
    "/v1/events",
    access=SEE_EVERYTHING,
    tags=["events"],
    summary="Changes, as server-sent events",
    media_type="text/event-stream",
)
async def stream_events(
    request: Request[Any, Any, Any],
    hub: EventHub,
    guard: Guard,
    visibility: Visibility,
    last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None,
) -> Stream:
    """`change` events name kinds and keys, at most once a second; `heartbeat` every 5 s; `resync` after a gap.

    Only what the caller may see is named. The stream ends when that changes.
    """
    since = int(last_event_id) if last_event_id and _EVENT_ID.fullmatch(last_event_id) else None

    async def body() -> AsyncIterator[bytes]:
        permission = Recheck(guard, request, visibility)
        async for event in hub.listen(since):
            if not await permission.holds():
                return
            yield event.within(visibility).encode()

    return Stream(
        body(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
