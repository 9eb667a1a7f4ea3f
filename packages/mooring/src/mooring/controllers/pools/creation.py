"""Making workers: slow start, idempotent by name, with a pause after failures."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import structlog

from hawser.errors import AlreadyExists, ApiError, KubeError
from hawser.resources import PODS, SERVICEACCOUNTS
from hawser.views import Object
from mooring.controllers.accounts import is_worker_account
from mooring.controllers.pools.events import PoolEvents
from mooring.controllers.pools.manifests import account_manifest, worker_manifest
from mooring.controllers.pools.metrics import CREATE_FAILURES, WORKERS_CREATED
from mooring.controllers.pools.server_address import ReadServerAddress
from mooring.engine.context import Context
from mooring.engine.creator import Creator, NameTaken
from mooring.engine.expectations import Expectations
from mooring.engine.ownership import is_controlled_by
from mooring.model.pool import Pool
from mooring.model.worker import Worker
from mooring.planning.actions import CreateWorker
from mooring.planning.placement import Placed
from mooring.planning.pools.snapshot import Backoff, InFlight

log = structlog.get_logger()

BACKOFF_FLOOR_SECONDS = 2.0
BACKOFF_CEILING_SECONDS = 300.0


class WorkerCreation:
    """Creates pods, one batch after another, each twice as large as the last. All it remembers may be lost."""

    def __init__(self, context: Context, server: ReadServerAddress) -> None:
        self.server = server
        self._context = context
        self._creator = Creator(context.client, context.clock, context.entropy, attempts=1)
        self._expectations: Expectations[None] = Expectations(context.clock, context.timeouts.overlay_expiry)
        self._backoffs: dict[str, Backoff] = {}
        self._events = PoolEvents(context.events)

    def in_flight(self, pool: Pool, workers: Sequence[Worker], cache_version: int) -> InFlight:
        """Own writes that these workers, as cached at that version, do not show yet."""
        present = {word for worker in workers for word in (worker.name, worker.uid)}
        unseen = self._expectations.unseen(pool.key, present, cache_version)
        return InFlight(frozenset(unseen.creating), unseen.deleting, unseen.taken)

    def deleted(self, pool: Pool, worker: Worker) -> None:
        """The delete of a worker was accepted."""
        self._expectations.deleted(pool.key, worker.uid)

    def backoff(self, key: str) -> Backoff | None:
        """The time before which nothing is created for a pool, and the reason."""
        return self._backoffs.get(key)

    def forget(self, key: str) -> None:
        """The pool is gone."""
        self._expectations.forget(key)
        self._backoffs.pop(key, None)

    async def create(self, pool: Pool, creates: Sequence[CreateWorker], placed: Placed) -> None:
        """Make the workers; stop at the first batch with a failure, so that a refused fleet costs few requests."""
        batch, queue = 1, list(creates)
        made: list[Object] = []
        while queue:
            current, queue = queue[:batch], queue[batch:]
            ended = await asyncio.gather(*(self._create(pool, create.name, placed) for create in current))
            made += [pod for pod in ended if isinstance(pod, Object)]
            failed = next((error for error in ended if isinstance(error, KubeError)), None)
            if failed is not None:
                self._back_off(pool, failed)
                break
            batch *= 2
        else:
            self._backoffs.pop(pool.key, None)
        self._events.created(pool, made)

    async def _create(self, pool: Pool, name: str, placed: Placed) -> Object | KubeError | None:
        """Create one worker. Returns its pod, the error, or None when nothing had to be created."""
        incarnation = self._context.ledger.incarnation.id
        body = worker_manifest(pool, name, placed, incarnation, self.server())
        try:
            if pool.spec.service_account == "PerWorker" and not await self._create_account(pool, name):
                return None
            is_ours = partial(is_controlled_by, uid=pool.uid)
            pod, fresh = await self._creator.create(PODS, body, pool.namespace, is_ours)
        except NameTaken as taken:
            if is_controlled_by(taken.found, pool.uid):
                self._expect(pool, taken.found)
            else:
                self._expectations.taken(pool.key, name)
            return None
        except AlreadyExists:
            return None  # and gone again in the meantime: the next pass decides anew
        except KubeError as error:
            CREATE_FAILURES.labels(pool.key).inc()
            return error
        self._expect(pool, pod)
        if not fresh:
            return None
        WORKERS_CREATED.labels(pool.key).inc()
        return pod

    async def _create_account(self, pool: Pool, name: str) -> bool:
        """False: the name is a stranger's, and no worker of ours may run under that account."""
        body: dict[str, Any] = account_manifest(pool, name)
        try:
            await self._creator.create(SERVICEACCOUNTS, body, pool.namespace, is_worker_account)
        except NameTaken as taken:
            if not any(owner.uid == pool.uid for owner in taken.found.metadata.owner_references):
                self._expectations.taken(pool.key, name)
                return False
        return True

    def _expect(self, pool: Pool, pod: Object) -> None:
        self._expectations.created(pool.key, pod.metadata.name, pod.metadata.version)

    def _back_off(self, pool: Pool, error: KubeError) -> None:
        before = self._backoffs.get(pool.key)
        failures = before.failures + 1 if before else 1
        ceiling = min(BACKOFF_CEILING_SECONDS, BACKOFF_FLOOR_SECONDS * 2 ** min(failures, 10))
        asked = error.retry_after_seconds if isinstance(error, ApiError) else None
        delay = max(self._context.entropy.between(BACKOFF_FLOOR_SECONDS, ceiling), asked or 0.0)
        until = self._context.clock.now() + timedelta(seconds=delay)
        message = f"creating a worker failed {failures} time(s): {error.message}"
        self._backoffs[pool.key] = Backoff(failures, until, message)
        log.warning("creates back off", pool=pool.key, failures=failures, seconds=round(delay, 1), error=error.message)
