"""Deleting workers: only what passed the rails, only as it was seen, and never without an audit row before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mooring.clock import Clock
from mooring.control.accounts import delete_account
from mooring.control.auditing import DONE, Auditor, Result
from mooring.control.metrics import RAILS_HELD, WORKERS_RETIRED
from mooring.control.overlay import Overlay
from mooring.kube.client import KubeClient
from mooring.kube.resources import PODS
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.pool import Pool
from mooring.planning.actions import RetireWorker, earliest
from mooring.planning.rails import CAP_PER_TICK, CONFIRM_SECONDS, apply_rails


@dataclass(slots=True)
class _Memory:
    """What the rails remember of one pool between passes. Lost with the process: then confirmation starts again."""

    sightings: Mapping[str, datetime] = field(default_factory=dict)
    window_started: float = float("-inf")
    spent: int = 0


class WorkerRetirement:
    """Carries out `RetireWorker`."""

    def __init__(self, client: KubeClient, auditor: Auditor, overlay: Overlay, clock: Clock) -> None:
        self._client = client
        self._auditor = auditor
        self._overlay = overlay
        self._clock = clock
        self._memories: dict[str, _Memory] = {}

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

        async def delete() -> Result:
            await self._client.delete(
                PODS, worker.name, worker.namespace, uid=worker.uid, resource_version=worker.resource_version
            )
            self._overlay.deleted(pool.key, worker.uid, 0, self._clock.monotonic())
            WORKERS_RETIRED.labels(pool.key, act.invariant).inc()
            if pool.spec.service_account == "PerWorker":
                await delete_account(self._client, worker.namespace, worker.name)
            return DONE

        outcome = await self._auditor.carry_out(
            delete,
            actor=f"invariant/{act.invariant}",
            action="delete",
            subject=Subject("Pod", worker.namespace, worker.name, worker.uid),
            reason=act.reason,
            evidence=act.evidence,
        )
        return outcome is AuditOutcome.DONE
