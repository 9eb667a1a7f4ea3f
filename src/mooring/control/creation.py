"""Making workers: slow start, idempotent by name, and an honest answer when the outcome is unknown."""

import asyncio
from dataclasses import dataclass
from enum import Enum

from mooring.clock import Clock
from mooring.control.manifests import worker_manifest
from mooring.control.metrics import CREATE_FAILURES, WORKERS_CREATED
from mooring.control.overlay import Overlay
from mooring.control.translation import is_worker_account
from mooring.kube.client import KubeClient
from mooring.kube.errors import AlreadyExists, ApiError, ConnectionFailed, KubeError, ObjectNotFound, ServerFailed
from mooring.kube.resources import PODS, SERVICEACCOUNTS
from mooring.kube.views import Pod
from mooring.model import names
from mooring.model.pool import Pool
from mooring.planning.actions import CreateWorker
from mooring.planning.placement import Placed


class Made(Enum):
    """How one create ended."""

    CREATED = "created"
    EXISTED = "existed"  # it was there already: an earlier create whose answer was lost
    FOREIGN = "foreign"  # the name belongs to somebody else
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Creation:
    """How a round of creates ended."""

    made: int
    failure: str = ""
    retry_after_seconds: float | None = None


class WorkerCreation:
    """Creates pods, one batch after another, each twice as large as the last."""

    def __init__(self, client: KubeClient, overlay: Overlay, clock: Clock, worker_url: str) -> None:
        self._client = client
        self._overlay = overlay
        self._clock = clock
        self._worker_url = worker_url

    async def create(self, pool: Pool, actions: tuple[CreateWorker, ...], placed: Placed, incarnation: str) -> Creation:
        """Make the workers; stop at the first batch with a failure, so that a refused fleet costs few requests."""
        made, batch = 0, 1
        queue = list(actions)
        while queue:
            current, queue = queue[:batch], queue[batch:]
            outcomes = await asyncio.gather(
                *(self._create(pool, action.name, placed, incarnation) for action in current)
            )
            made += sum(outcome[0] is Made.CREATED for outcome in outcomes)
            failures = [error for result, error in outcomes if result is Made.FAILED]
            if failures:
                error = failures[0]
                wait = error.retry_after_seconds if isinstance(error, ApiError) else None
                return Creation(made, error.message if error else "", wait)
            batch *= 2
        return Creation(made)

    async def _create(self, pool: Pool, name: str, placed: Placed, incarnation: str) -> tuple[Made, KubeError | None]:
        try:
            if pool.spec.service_account == "PerWorker" and not await self._create_account(pool, name):
                return self._leave(pool, name), None
            body = worker_manifest(pool, name, placed, incarnation, self._worker_url)
            pod = await self._client.create(PODS, body, pool.namespace)
        except AlreadyExists:
            return await self._inspect(pool, name), None
        except (ConnectionFailed, ServerFailed) as error:
            return await self._read_back(pool, name, error)
        except KubeError as error:
            CREATE_FAILURES.labels(pool.key).inc()
            return Made.FAILED, error
        WORKERS_CREATED.labels(pool.key).inc()
        self._expect(pool, pod)
        return Made.CREATED, None

    async def _create_account(self, pool: Pool, name: str) -> bool:
        """False: the name is a stranger's, and no worker of ours may go by it (fault 45)."""
        owner = {"apiVersion": names.API_VERSION, "kind": "WorkerPool", "name": pool.name, "uid": pool.uid}
        body = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {
                "name": name,
                "labels": {names.POOL: pool.name, names.WORKER: name},
                "ownerReferences": [owner],
            },
        }
        try:
            await self._client.create(SERVICEACCOUNTS, body, pool.namespace)
        except AlreadyExists:
            return is_worker_account(await self._client.get(SERVICEACCOUNTS, name, pool.namespace))
        return True

    async def _inspect(self, pool: Pool, name: str) -> Made:
        """The name is taken. By our own pod, unseen so far, or by a stranger's?"""
        try:
            pod = await self._client.get(PODS, name, pool.namespace)
        except ObjectNotFound:
            return Made.EXISTED  # gone again in the meantime: the next pass decides anew
        controller = pod.metadata.controller
        if controller is not None and controller.uid == pool.uid:
            self._expect(pool, pod)
            return Made.EXISTED
        return self._leave(pool, name)

    def _leave(self, pool: Pool, name: str) -> Made:
        """To the stranger who has it."""
        self._overlay.taken(pool.key, name, self._clock.monotonic())
        return Made.FOREIGN

    async def _read_back(self, pool: Pool, name: str, error: KubeError) -> tuple[Made, KubeError | None]:
        """No answer, or a 5xx: the pod may exist. Only a look tells; if that fails too, the slot name protects us."""
        try:
            if await self._inspect(pool, name) is Made.EXISTED and self._overlay.expects(pool.key, name):
                return Made.CREATED, None
        except KubeError as unreadable:
            return Made.FAILED, unreadable
        CREATE_FAILURES.labels(pool.key).inc()
        return Made.FAILED, error

    def _expect(self, pool: Pool, pod: Pod) -> None:
        version = int(pod.metadata.resource_version)
        self._overlay.created(pool.key, pod.metadata.name, version, self._clock.monotonic())
