"""Whether the hub still wants a server: its token is asked for at the hub's API from time to time.

The hub revokes the token when it stops a server. A server whose token is refused twice is therefore one that the hub
could not stop, or that it has forgotten; one whose hub is silent for very long has nobody who would ever stop it.
"""

import asyncio
import http.client
from collections.abc import Mapping
from enum import Enum
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from hawser.clock import Clock
from mooring.client.daemon_thread import start_daemon_thread

LOOK_SECONDS = 60.0
ANSWER_SECONDS = 10.0
REFUSALS = 2
SILENCE_SECONDS = 24 * 3600.0
SILENCE_FIELD = "hubSilenceSeconds"


class Answer(Enum):
    """What the hub says about the token of a server."""

    KNOWN = "known"
    REFUSED = "refused"
    UNKNOWN = "unknown"  # no answer, or one that says nothing about the token


class HubWatch:
    """Counts refusals and silence. `reason` decides, without I/O."""

    def __init__(self, url: str, token: str, silence_seconds: float, clock: Clock) -> None:
        self._url = urlsplit(url)
        self._token = token
        self._silence_seconds = silence_seconds
        self._clock = clock
        self._answered_at = clock.monotonic()
        self._refusals = 0

    @classmethod
    def of(cls, payload: Mapping[str, Any], environment: Mapping[str, str], clock: Clock) -> Self:
        """For the server that starts with this payload and environment."""
        silence = payload.get(SILENCE_FIELD)
        seconds = float(silence) if isinstance(silence, int | float) and silence > 0 else SILENCE_SECONDS
        url, token = environment.get("JUPYTERHUB_API_URL", ""), environment.get("JUPYTERHUB_API_TOKEN", "")
        return cls(url, token, seconds, clock)

    def reason(self, answer: Answer) -> str:
        """Why the server must stop after this answer; empty if it may run on."""
        if answer is Answer.UNKNOWN:
            silent = self._clock.monotonic() - self._answered_at
            return f"the hub has not answered for {silent:.0f} s" if silent >= self._silence_seconds else ""
        self._answered_at = self._clock.monotonic()
        self._refusals = self._refusals + 1 if answer is Answer.REFUSED else 0
        return "the hub has revoked its token" if self._refusals >= REFUSALS else ""

    async def wait_unwanted(self) -> str:
        """Ask until the server must stop; returns why."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            answer = await asyncio.wrap_future(start_daemon_thread(self._ask, "mooring-hub-watch"))
            if reason := self.reason(answer):
                return reason

    def _ask(self) -> Answer:
        try:
            connection = _connect(self._url)
        except (http.client.HTTPException, ValueError):
            return Answer.UNKNOWN
        try:
            connection.request("GET", f"{self._url.path}/user", headers={"Authorization": f"token {self._token}"})
            return classify_answer(connection.getresponse().status)
        except (OSError, http.client.HTTPException):
            return Answer.UNKNOWN
        finally:
            connection.close()


def classify_answer(status: int) -> Answer:
    """What the HTTP status of the hub's answer says about the token."""
    if status in (401, 403):
        return Answer.REFUSED
    return Answer.KNOWN if status == 200 else Answer.UNKNOWN


def _connect(url: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    return kind(url.hostname or "", url.port, timeout=ANSWER_SECONDS)
