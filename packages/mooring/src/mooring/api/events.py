"""`GET /v1/events`: the event stream over server-sent events."""

import re
from collections.abc import AsyncIterator
from typing import Annotated

from litestar import get
from litestar.params import HeaderParameter
from litestar.response import Stream

from mooring.queries.events import EventHub

_EVENT_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


@get("/v1/events", tags=["events"], summary="Changes, as server-sent events", media_type="text/event-stream")
async def stream_events(
    hub: EventHub, last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None
) -> Stream:
    """`change` events name kinds and keys, at most once a second; `heartbeat` every 5 s; `resync` after a gap."""
    since = int(last_event_id) if last_event_id and _EVENT_ID.fullmatch(last_event_id) else None

    async def body() -> AsyncIterator[bytes]:
        async for event in hub.listen(since):
            yield event.encode()

    return Stream(
        body(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
