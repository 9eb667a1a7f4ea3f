"""A Service of Kubernetes, as clients see it: each request goes to a replica that passed its last probes."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
from yarl import URL

from mooring.client.asyncio_runtime import AsyncioRuntime
from mooring.client.connection import Endpoint, read_answer
from packages.mooring.tests.fire.parts import Replica

PROBE_SECONDS, PROBE_TIMEOUT_SECONDS, PROBE_FAILURES = 5.0, 3.0, 3  # as in the Deployment
_CONNECT_SECONDS = 2.0


class Service:
    """Chooses a replica for each request; any of them while none is ready."""

    def __init__(self, replicas: Sequence[Replica], session: aiohttp.ClientSession, chance: random.Random) -> None:
        self._replicas = replicas
        self._session = session
        self._chance = chance
        self._failures = dict.fromkeys((replica.name for replica in replicas), 0)

    async def run(self) -> None:
        """Probe until cancelled."""
        await asyncio.gather(*(self._probe(replica) for replica in self._replicas))

    async def _probe(self, replica: Replica) -> None:
        while True:
            ready = (await replica.describe(self._session, PROBE_TIMEOUT_SECONDS)).get("ready", False)
            self._failures[replica.name] = 0 if ready else self._failures[replica.name] + 1
            await asyncio.sleep(PROBE_SECONDS)

    def choose(self) -> Replica:
        """One that is ready."""
        ready = [replica for replica in self._replicas if self._failures[replica.name] < PROBE_FAILURES]
        return self._chance.choice(ready or list(self._replicas))


class ServiceRuntime(AsyncioRuntime):
    """The SDK's runtime for a Service, or for one replica. A thousand clients share it, so connections are kept."""

    def __init__(
        self, service: Service, session: aiohttp.ClientSession, headers: Mapping[str, str], only: Replica | None = None
    ) -> None:
        super().__init__(Endpoint("http://mooring", ""))
        self._service = service
        self._session = session
        self._headers = headers
        self._only = only

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        replica = self._only or self._service.choose()
        endpoint = Endpoint(replica.url, "")
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=_CONNECT_SECONDS)
        target = URL(endpoint.target(path, query), encoded=True)
        try:
            async with self._session.request(
                method, target, json=body, headers=self._headers, timeout=timeout
            ) as answer:
                payload = await answer.read()
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise endpoint.unreachable(error) from error
        return read_answer(answer.status, payload)
