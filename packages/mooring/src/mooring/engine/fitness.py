"""Whether this replica sees the cluster well enough to lead."""

import asyncio
from collections.abc import Sequence

from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError, NotPermitted, TooManyRequests
from mooring.engine.containment import contained
from mooring.engine.informer import Informer
from mooring.model.timeouts import Timeouts


class Fitness:
    """Asks the API server in the rhythm of the heartbeats, and looks at the caches that every controller needs.

    A cut connection may look like a quiet watch for minutes: only a question shows that nobody answers.
    """

    def __init__(self, client: KubeClient, clock: Clock, timeouts: Timeouts, informers: Sequence[Informer]) -> None:
        self._client = client
        self._clock = clock
        self._timeouts = timeouts
        self._informers = tuple(informers)
        self._answered_at = float("-inf")
        self._failure = "it was not asked yet"

    @property
    def api_failure(self) -> str:
        """Why the API server counts as unreachable; empty while its last answer is recent."""
        silent = self._clock.monotonic() - self._answered_at
        return self._failure or "no answer" if silent >= self._timeouts.leader_stale else ""

    @property
    def obstacle(self) -> str:
        """Why this replica must not lead now; empty if it may."""
        if failure := self.api_failure:
            return f"the API server does not answer: {failure}"
        for informer in self._informers:
            for name, reflector in informer.reflectors.items():
                stale = reflector.stale_seconds
                if stale >= self._timeouts.leader_stale:
                    state = f"stale for {stale:.0f} s" if reflector.synced else "not read yet"
                    return f"the cache of {name} is {state}"
        return ""

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            with contained("fitness"):
                await self.ask()
            await self._clock.sleep(self._timeouts.replica_heartbeat)

    async def ask(self) -> None:
        """Send one request. A refusal counts as an answer: the API server is reachable."""
        asked = self._clock.monotonic()
        limit = self._timeouts.leader_stale / 2
        try:
            async with asyncio.timeout(limit):
                await self._client.version()
        except TimeoutError:
            self._failure = f"no answer within {limit:g} s"
        except (NotPermitted, TooManyRequests):
            self._answered_at, self._failure = asked, ""
        except KubeError as error:
            self._failure = error.message
        else:
            self._answered_at, self._failure = asked, ""
