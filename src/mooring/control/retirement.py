"""Deleting workers: only what passed the rails, only as it was seen, and never without an audit row before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from mooring.clock import Clock, Entropy
from mooring.control.metrics import RAILS_HELD, WORKERS_RETIRED
from mooring.control.overlay import Overlay
from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError, ObjectConflict, ObjectNotFound
from mooring.kube.resources import PODS, SERVICEACCOUNTS
from mooring.ledger.port import Ledger
from mooring.model.audit import AuditEntry, AuditOutcome, Subject
from mooring.model.pool import Pool
from mooring.planning.actions import RetireWorker, earliest
from mooring.planning.rails import CAP_PER_TICK, CONFIRM_SECONDS, apply_rails

log = structlog.get_logger()


@dataclass(slots=True)
class _Memory:
    """What the rails remember of one pool between passes. Lost with the process: then confirmation starts again."""

    sightings: Mapping[str, datetime] = field(default_factory=dict)
    window_started: float = float("-inf")
    spent: int = 0


class WorkerRetirement:
    """Carries out `RetireWorker`."""

    def __init__(
        self, client: KubeClient, ledger: Ledger, overlay: Overlay, clock: Clock, entropy: Entropy, replica_id: str
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._overlay = overlay
        self._clock = clock
        self._entropy = entropy
        self._replica_id = replica_id
        self._memories: dict[str, _Memory] = {}
        self._listeners: list[Callable[[str], None]] = []

    def on_act(self, listener: Callable[[str], None]) -> None:
        """Be told of every act, when its audit row is complete."""
        self._listeners.append(listener)

    def forget(self, pool_key: str) -> None:
        """The pool is gone."""
        self._memories.pop(pool_key, None)

    async def retire(self, pool: Pool, acts: tuple[RetireWorker, ...], brakes: tuple[str, ...]) -> datetime | None:
        """Do what the rails allow; answers when to look again."""
        memory = self._memories.setdefault(pool.key, _Memory())
        now = self._clock.now()
        self._open_window(memory)
        verdict = apply_rails(acts, memory.sightings, now, brakes, cap=CAP_PER_TICK - memory.spent)
        memory.sightings = verdict.sightings
        RAILS_HELD.labels("warm-floor").set(len(verdict.held))
        wake_at = verdict.wake_at
        for act in verdict.allowed:
            memory.spent += 1
            if not await self._delete(pool, act):
                wake_at = earliest(wake_at, now)
        return wake_at

    def _open_window(self, memory: _Memory) -> None:
        started = self._clock.monotonic()
        if started - memory.window_started >= CONFIRM_SECONDS:
            memory.window_started, memory.spent = started, 0

    async def _delete(self, pool: Pool, act: RetireWorker) -> bool:
        """One audited delete with both preconditions. False: it changed in the meantime, decide anew."""
        worker = act.worker
        entry = AuditEntry(
            id=self._entropy.uuid(),
            at=self._clock.now(),
            actor=f"invariant/{act.invariant}",
            replica=self._replica_id,
            action="delete",
            subject=Subject("Pod", worker.namespace, worker.name, worker.uid),
            reason=act.reason,
            evidence=act.evidence,
        )
        await self._ledger.audit.begin(entry)
        outcome, error = await self._carry_out(pool, act)
        await self._ledger.audit.complete(entry.id, outcome, now=self._clock.now(), error=error)
        for listener in self._listeners:
            listener(f"{worker.namespace}/{worker.name}")
        return outcome is AuditOutcome.DONE

    async def _carry_out(self, pool: Pool, act: RetireWorker) -> tuple[AuditOutcome, str]:
        worker = act.worker
        try:
            await self._client.delete(
                PODS, worker.name, worker.namespace, uid=worker.uid, resource_version=worker.resource_version
            )
        except ObjectNotFound:
            return AuditOutcome.DONE, "was gone already"
        except ObjectConflict as error:
            return AuditOutcome.SKIPPED, error.message
        except KubeError as error:
            log.warning("delete failed", pod=worker.name, namespace=worker.namespace, error=error.message)
            return AuditOutcome.FAILED, error.message
        self._overlay.deleted(pool.key, worker.uid, 0, self._clock.monotonic())
        WORKERS_RETIRED.labels(pool.key, act.invariant).inc()
        if pool.spec.service_account == "PerWorker":
            await self._delete_account(worker.namespace, worker.name)
        return AuditOutcome.DONE, ""

    async def _delete_account(self, namespace: str, name: str) -> None:
        """Its pod is going; what fails here is found by `account-has-pod`."""
        try:
            account = await self._client.get(SERVICEACCOUNTS, name, namespace)
            await self._client.delete(SERVICEACCOUNTS, name, namespace, uid=account.metadata.uid)
        except KubeError as error:
            log.info("service account left for the reaper", name=name, namespace=namespace, error=error.message)
