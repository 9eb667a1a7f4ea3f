"""The latent worker of the master. A build gets a claim on a warm worker, and its end gives the worker back."""

import socket
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from buildbot.interfaces import LatentWorkerCannotSubstantiate, LatentWorkerFailedToSubstantiate
from buildbot.util.twisted import async_to_deferred
from buildbot.worker.latent import AbstractLatentWorker
from buildbot.worker.protocols.base import Connection
from twisted.python import log
from twisted.python.failure import Failure

from hawser.backoff import Backoff
from hawser.clock import Entropy, SystemClock
from mooring.client import AsyncMooring, RemoteError, Unavailable
from mooring.client.request import make_request
from mooring_buildbot.instance import ClaimWish, Instance, InstanceState, release_leftovers
from mooring_buildbot.keys import make_prefix
from mooring_buildbot.loop import LOOP
from mooring_buildbot.payload import INSTANCE, WorkerLogin

STOP_SECONDS = 15.0  # the SDK gives a claim back within about ten
MISSING_SECONDS = 24 * 3600  # a build waits for a worker as long as this, and says why


@dataclass(frozen=True, slots=True)
class PoolClaims:
    """Which workers are claimed, and at which Mooring. Empty fields have the defaults of the SDK."""

    pool: str  # namespace/name
    owner: str = ""
    ttl: str = "5m"
    wait: str = "1h"
    priority: int = 0
    url: str = ""
    token: str = ""
    ca: str = ""
    state: str = ""  # the state folder of a `mooring up`

    def connect(self) -> AsyncMooring:
        """The Mooring to ask."""
        return AsyncMooring(self.url, self.token, state=self.state or None, ca=self.ca or None)


class MooringLatentWorker(AbstractLatentWorker):
    """A worker of Buildbot that exists while it builds.

    `claims` names the pool. `master` is the Twisted endpoint under which pods reach this master (default: its host
    name and the port of `c["protocols"]["pb"]`). `installation` separates Buildbots that share a pool and an account
    (default: `c["buildbotURL"]`). All other arguments are those of Buildbot's latent workers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._instance: Instance | None = None
        self._login: WorkerLogin | None = None
        self._cleaning: Future[None] | None = None
        super().__init__(*args, **kwargs)

    def checkConfig(
        self, name: str, claims: PoolClaims, master: str = "", installation: str = "", **kwargs: Any
    ) -> None:
        make_request(claims.pool, claims.owner, claims.ttl, claims.wait)
        super().checkConfig(name, None, **_defaults(kwargs))

    @async_to_deferred
    async def reconfigService(
        self, name: str, claims: PoolClaims, master: str = "", installation: str = "", **kwargs: Any
    ) -> None:
        self._claims = claims
        self._endpoint = master
        self._prefix = make_prefix(installation or self.master.config.buildbotURL, name)
        await super().reconfigService(name, self.getRandomPass(), **_defaults(kwargs))

    @async_to_deferred
    async def startService(self) -> None:
        await super().startService()
        self._cleaning = LOOP.start(self._clean())

    @async_to_deferred
    async def stopService(self) -> None:
        self._stop_cleaning()
        await super().stopService()

    # --- what Buildbot asks of a latent worker -----------------------------------------------------------------------
    @async_to_deferred
    async def start_instance(self, build: Any) -> bool:
        """Returns at once: while the claim waits, Buildbot can stop the build, and `check_instance` says why."""
        assert self.password is not None
        self._stop_cleaning()  # its list of claims may be of now: it would release the one that is made here
        await self._stop(self._instance)
        self._login = WorkerLogin(self.name, self.password, self._find_endpoint(), Entropy().uuid())
        instance = Instance(
            self._claims.connect(), self._wish(self._login), SystemClock(), Entropy(), self._instance_changed
        )
        self._instance = instance
        LOOP.start(instance.run())
        return True

    @async_to_deferred
    async def stop_instance(self, fast: bool = False) -> bool:
        """Give the worker back."""
        instance, self._instance, self._login = self._instance, None, None
        await self._stop(instance)
        return True

    def check_instance(self) -> tuple[bool, str]:
        """Whether the worker may still connect. Called until it has."""
        instance = self._instance
        if instance is None or instance.state in (InstanceState.WAITING, InstanceState.HELD):
            return True, ""
        return False, instance.message

    @async_to_deferred
    async def attached(self, conn: Connection) -> None:
        """Only the worker of the current claim may connect: one of an earlier claim is about to be stopped."""
        info = await conn.remoteGetWorkerInfo()
        expected = self._login.instance if self._login is not None else None
        if expected is None or info.get(INSTANCE, "").strip() != expected:
            log.msg(f"worker {self.name} connects for a claim that is over; it is disconnected")
            self._deferwaiter.add(self._disconnect(conn))
            raise RuntimeError(f"worker {self.name} is not the one of the current claim")
        await super().attached(conn)

    # --- its claim ---------------------------------------------------------------------------------------------------
    def _instance_changed(self) -> None:
        """On the thread of the SDK."""
        self.master.reactor.callFromThread(self._follow_instance, self._instance)

    def _follow_instance(self, instance: Instance | None) -> None:
        if instance is None or instance is not self._instance:
            return
        log.msg(f"worker {self.name}: {instance.state.value}, {instance.message}")
        if instance.state is InstanceState.REFUSED:
            self._fail(LatentWorkerCannotSubstantiate(self.name, instance.message))
        elif instance.state in (InstanceState.FAILED, InstanceState.ENDED) and self.conn is not None:
            self.conn.loseConnection()  # the pod is gone: Buildbot would notice only by a TCP timeout
        elif instance.state in (InstanceState.FAILED, InstanceState.ENDED):
            self._fail(LatentWorkerFailedToSubstantiate(self.name, instance.message))

    def _fail(self, error: Exception) -> None:
        if not self.substantiated:
            self._substantiation_failed(Failure(error))

    async def _stop(self, instance: Instance | None) -> None:
        if instance is not None:
            reactor = self.master.reactor
            await LOOP.defer(reactor, instance.stop()).addTimeout(STOP_SECONDS, reactor)

    def _stop_cleaning(self) -> None:
        if self._cleaning is not None:
            self._cleaning.cancel()

    async def _clean(self) -> None:
        """Once, when the master starts: what an earlier one left is released, as soon as Mooring answers.

        The first instance does the same, and knows its own claim.
        """
        clock, backoff = SystemClock(), Backoff(Entropy(), first_seconds=1.0, last_seconds=30.0)
        while True:
            try:
                await release_leftovers(self._claims.connect(), self._wish(None), "")
                return
            except Unavailable:
                await clock.sleep(backoff.next_seconds())
            except RemoteError as error:  # a build that starts reports it
                log.msg(f"worker {self.name}: claims of an earlier master are not released: {error.message}")
                return

    def _wish(self, login: WorkerLogin | None) -> ClaimWish:
        claims = self._claims
        payload = login.encode() if login is not None else {}
        return ClaimWish(claims.pool, claims.owner, claims.ttl, claims.wait, claims.priority, self._prefix, payload)

    def _find_endpoint(self) -> str:
        if self._endpoint:
            return self._endpoint
        assert self.registration is not None
        return f"tcp:host={socket.getfqdn()}:port={self.registration.getPBPort()}"


def _defaults(kwargs: dict[str, Any]) -> dict[str, Any]:
    """A worker is claimed for one build, and a build waits in the queue of the pool."""
    return {"build_wait_timeout": 0, "missing_timeout": MISSING_SECONDS, "max_builds": 1, **kwargs}
