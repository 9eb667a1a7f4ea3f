"""The time since which requests could reach this replica. Silence before that time is not counted.

The API is asked under the address that workers use, so a broken way to it is noticed too. A request that came in proves
the same, so that a busy Mooring does not ask itself. A process that was stopped for a while could hear nobody either.

In some clusters a pod never reaches itself by the address of its Service. So the doubt ends after `DOUBT_SECONDS`: a
leak must not wedge a pool for ever (leaked-stamps). Silence is counted from then on.
"""

from typing import Protocol

import aiohttp
import structlog

from hawser.clock import Clock

log = structlog.get_logger()

MISSED_LOOKS = 4  # a process that has missed so many looks was stopped, or its machine was
ANSWER_SECONDS = 5.0
DOUBT_SECONDS = 900.0


class OwnApi(Protocol):
    """Asks for an answer of Mooring's own API."""

    url: str

    async def failure(self) -> str:
        """Why it does not answer; empty if it does. Never raises for what the network does."""
        ...


class HttpOwnApi:
    """One `GET` of `/healthz` on a fresh connection.

    It sends no credentials, and its answer is not trusted with anything, so certificates are not checked.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    async def failure(self) -> str:
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(trust_env=False, timeout=timeout) as session,
                session.get(f"{self.url.rstrip('/')}/healthz", ssl=False, allow_redirects=False) as reply,
            ):
                return "" if reply.status == 200 else f"it answered {reply.status}"
        except TimeoutError:
            return f"no answer within {ANSWER_SECONDS:.0f} s"
        except aiohttp.ClientConnectorError as error:
            return error.strerror or "there is no way there"
        except (aiohttp.ClientError, ValueError) as error:
            return f"the answer was not HTTP: {type(error).__name__}"


class Reachability:
    """Whether this replica can be reached, and since when without a gap."""

    def __init__(self, api: OwnApi, clock: Clock, period_seconds: float) -> None:
        self.api = api
        self._clock = clock
        self._gap_seconds = MISSED_LOOKS * period_seconds
        self._since: float | None = None
        self._looked_at: float | None = None
        self._failing_since: float | None = None
        self.failure = ""  # why the API could not be reached at the last look

    @property
    def since(self) -> float | None:
        """On the monotonic clock; None while it cannot be reached, or is not known to be."""
        return self._since if self._looked_at is not None and not self._is_gap(self._looked_at) else None

    @property
    def doubted(self) -> bool:
        """Whether the last looks failed, for less than `DOUBT_SECONDS`."""
        return self._failing_since is not None and self._clock.monotonic() - self._failing_since < DOUBT_SECONDS

    async def look(self, *, proven: bool) -> None:
        """Ask, unless a request has come in since the last look."""
        before, self.failure = self.failure, "" if proven else await self.api.failure()
        if self.failure and not before:
            log.warning("the API of Mooring does not answer", url=self.api.url, error=self.failure)
        now = self._clock.monotonic()
        stopped = self._looked_at is not None and self._is_gap(self._looked_at)
        if not self.failure:
            self._failing_since = None
        elif self._failing_since is None or stopped:
            self._failing_since = now
        if self.doubted:
            self._since = None
        elif self._since is None or stopped:
            self._since = now
        self._looked_at = now

    def _is_gap(self, since: float) -> bool:
        return self._clock.monotonic() - since > self._gap_seconds
