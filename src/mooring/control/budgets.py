"""Keeps one disruption budget a pool, so that plain drains and cloud upgrades wait for working pods too."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import structlog

from mooring.clock import Clock, Entropy
from mooring.control.auditing import DONE, Auditor, Result
from mooring.control.fleet import Fleet
from mooring.control.ownership import owner_reference
from mooring.control.part import Part
from mooring.control.watch import Watch
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.errors import AlreadyExists
from mooring.kube.resources import BUDGETS
from mooring.kube.views import PodDisruptionBudget
from mooring.ledger.port import Ledger
from mooring.model import names
from mooring.model.audit import Subject
from mooring.model.budget import Budget, budget_labels, budget_name, budget_spec
from mooring.model.pool import Pool
from mooring.planning.budgets import BudgetStep, plan_budget
from mooring.planning.protection import BUSY_IS_PROTECTED

log = structlog.get_logger()

WAIT = timedelta(seconds=5)


class Budgets(Part[Watch]):
    """A part beside the pools. Nobody shows budgets yet: its watch tells no one."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        fleet: Fleet,
        auditor: Auditor,
        is_paused: Callable[[str], str],
        may_act: Callable[[], bool],
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._fleet = fleet
        self._auditor = auditor
        self._is_paused = is_paused
        self._clock = clock
        watch = Watch(client, clock, entropy)
        self._budgets = watch.reflect("budgets", BUDGETS, label_selector=names.POOL)
        super().__init__("budgets", watch, self.reconcile, may_act, clock, entropy, concurrency=2)
        self._budgets.subscribe(self._on_budget)
        fleet.subscribe(self._on_fleet)

    @property
    def all(self) -> tuple[Budget, ...]:
        """Every budget that carries our label."""
        return tuple(budget_from_view(view) for view in self._budgets.cache.values())

    async def reconcile(self, key: str) -> datetime | None:
        """One pool's budget."""
        pool = self._fleet.pool(key)
        if pool is None or self._is_paused(BUSY_IS_PROTECTED):
            return None
        view = self._budgets.cache.get(pool.namespace, budget_name(pool))
        found = budget_from_view(view) if view is not None else None
        return await self._take(plan_budget(pool, found, self._ledger.incarnation.id), pool, found)

    async def _take(self, step: BudgetStep, pool: Pool, found: Budget | None) -> datetime | None:
        match step:
            case BudgetStep.CREATE:
                await self._create(pool)
            case BudgetStep.REPAIR if found is not None:
                await self._repair(pool, found)
            case BudgetStep.REMOVE if found is not None:
                await self._remove(pool, found)
            case BudgetStep.WAIT:
                return self._clock.now() + WAIT
            case BudgetStep.REFUSE:
                log.warning("a budget of somebody else has the pool's name", pool=pool.key, budget=budget_name(pool))
        return None

    async def _create(self, pool: Pool) -> None:
        try:
            await self._client.create(BUDGETS, budget_manifest(pool, self._ledger.incarnation.id), pool.namespace)
        except AlreadyExists:
            # Not in our cache: it lost its label, or belongs to somebody else, or the watch lags.
            found = budget_from_view(await self._client.get(BUDGETS, budget_name(pool), pool.namespace))
            step = plan_budget(pool, found, self._ledger.incarnation.id)
            if step is not BudgetStep.CREATE:
                await self._take(step, pool, found)

    async def _repair(self, pool: Pool, found: Budget) -> None:
        log.warning("a budget was changed by somebody", pool=pool.key, budget=found.name)
        await self._client.json_patch(
            BUDGETS,
            found.name,
            [
                {"op": "test", "path": "/metadata/uid", "value": found.uid},
                {"op": "test", "path": "/metadata/resourceVersion", "value": found.resource_version},
                {"op": "add", "path": "/metadata/labels", "value": budget_labels(pool, self._ledger.incarnation.id)},
                {"op": "replace", "path": "/spec", "value": budget_spec(pool)},
            ],
            found.namespace,
        )

    async def _remove(self, pool: Pool, found: Budget) -> None:
        async def remove() -> Result:
            await self._client.delete(
                BUDGETS, found.name, found.namespace, uid=found.uid, resource_version=found.resource_version
            )
            return DONE

        await self._auditor.carry_out(
            remove,
            actor=f"pool/{pool.key}",
            action="delete",
            subject=Subject("PodDisruptionBudget", found.namespace, found.name, found.uid),
            reason="its pool wants none (protection.budget is false)",
            evidence={"pool": pool.key, "generation": pool.generation},
        )

    def _on_budget(self, change: Change[PodDisruptionBudget]) -> None:
        view = change.latest
        for pool in self._fleet.pools.values():
            if pool.namespace == view.metadata.namespace and budget_name(pool) == view.metadata.name:
                self._loop.queue.add(pool.key)

    def _on_fleet(self, kind: str, key: str) -> None:
        if kind == "pool":
            self._loop.queue.add(key)


def budget_manifest(pool: Pool, ledger: str) -> dict[str, Any]:
    """The pool owns it: whoever deletes the pool, or its CRD, lifts the budget."""
    return {
        "apiVersion": BUDGETS.api_version,
        "kind": BUDGETS.kind,
        "metadata": {
            "name": budget_name(pool),
            "namespace": pool.namespace,
            "labels": budget_labels(pool, ledger),
            "ownerReferences": [owner_reference("WorkerPool", pool.name, pool.uid, blocks_deletion=False)],
        },
        "spec": budget_spec(pool),
    }


def budget_from_view(view: PodDisruptionBudget) -> Budget:
    """As the planner reads it."""
    meta = view.metadata
    owner = meta.controller
    return Budget(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        pool=meta.labels.get(names.POOL, ""),
        pool_uid=owner.uid if owner is not None and owner.kind == "WorkerPool" else "",
        ledger=meta.labels.get(names.LEDGER, ""),
        spec=_spec(view),
        terminating=view.terminating,
    )


def _spec(view: PodDisruptionBudget) -> dict[str, Any]:
    """What is set in its spec, as it stands in a manifest."""
    spec = view.spec
    selector: dict[str, Any] = {}
    if spec.selector is not None and spec.selector.match_labels:
        selector["matchLabels"] = dict(spec.selector.match_labels)
    if spec.selector is not None and spec.selector.match_expressions:
        selector["matchExpressions"] = len(spec.selector.match_expressions)
    given = {
        "minAvailable": spec.min_available,
        "maxUnavailable": spec.max_unavailable,
        "selector": None if spec.selector is None else selector,
        "unhealthyPodEvictionPolicy": spec.unhealthy_pod_eviction_policy or None,
    }
    return {key: value for key, value in given.items() if value is not None}
