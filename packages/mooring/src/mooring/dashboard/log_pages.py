"""The log of a pod: a page of its own, and a part of others that follows the log while it is open."""

from typing import Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_LOG
from mooring.dashboard.reader import Reader
from mooring.dashboard.responses import GivenReadings, PageResponse
from mooring.model.errors import MooringError
from mooring.queries.pods import LogRequest, PodLog, PodQueries

Of = Literal["pod", "job"]


class LogPart(msgspec.Struct, frozen=True):
    """A log, or why it cannot be shown; `address` is where it is read again."""

    address: str
    log: PodLog | None
    problem: str = ""

    @property
    def follows(self) -> bool:
        """Whether more lines may come."""
        return self.log is None or not (self.log.previous or self.log.ended)


async def read_log_part(pods: PodQueries, asked: LogRequest, of: Of = "pod") -> LogPart:
    """The log as a part of a page: a problem is shown in its place."""
    address = f"/logs/{asked.namespace}/{asked.pod}" + ("?of=job&" if of == "job" else "?")
    try:
        if of == "job":
            asked = msgspec.structs.replace(asked, pod=await pods.newest_pod(asked.namespace, asked.pod))
        return LogPart(address, await pods.log(asked))
    except MooringError as error:
        return LogPart(address, None, f"{error.message}. {error.fix}")


async def offered_log(pods: PodQueries, reader: Reader, asked: LogRequest, of: Of = "pod") -> LogPart | None:
    """The log for readers who may see it; None for others."""
    return await read_log_part(pods, asked, of) if reader.may("logs", asked.namespace) else None


@get("/logs/{namespace:str}/{name:str}", page="log", access=READ_LOG, include_in_schema=False)
async def log_page(
    request: Request[Any, Any, Any],
    all_readings: GivenReadings,
    namespace: str,
    name: str,
    container: str = "",
    previous: bool = False,
    of: Of = "pod",
) -> Response[str]:
    """The last lines of a container."""
    part = await read_log_part(all_readings.pods, LogRequest(namespace, name, container, previous), of)
    template = "_log.html" if request.headers.get("HX-Request") else "log.html"
    return PageResponse(template, 200, {"part": part, "here": "log", "subject": f"{namespace}/{name}"})


LOG_PAGES: list[ControllerRouterHandler] = [log_page]
