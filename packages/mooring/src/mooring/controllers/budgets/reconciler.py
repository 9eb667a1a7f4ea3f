"""The reconciler of budgets: makes, repairs and removes the one of a pool."""

from dataclasses import replace
from datetime import timedelta

import structlog

from hawser.resources import BUDGETS
from mooring.controllers.budgets.informer import BudgetInformer
from mooring.controllers.budgets.manifests import budget_manifest
from mooring.controllers.budgets.snapshot import BudgetSnapshots
from mooring.engine.audit import DONE, Result
from mooring.engine.context import Context
from mooring.engine.controller import NotNow, Pass, Reconciler
from mooring.engine.creator import Creator, NameTaken
from mooring.kinds.budgets import budget_from_view
from mooring.model.audit import Subject
from mooring.model.budget import Budget, budget_labels, budget_name, budget_spec
from mooring.model.pool import Pool
from mooring.planning.budgets.plan import BudgetSnapshot, BudgetStep, plan_budget
from mooring.planning.invariants.protection import BUSY_IS_PROTECTED

log = structlog.get_logger()

WAIT = timedelta(seconds=5)

BudgetPass = Pass[Pool, BudgetSnapshot, BudgetStep]


class BudgetReconciler(Reconciler[Pool, BudgetSnapshot, BudgetStep]):
    """One pass a pool. Nothing is remembered between passes."""

    def __init__(self, context: Context, informer: BudgetInformer) -> None:
        self._context = context
        self._informer = informer
        self._snapshots = BudgetSnapshots(context, informer)
        self._creator = Creator(context.client, context.clock, context.entropy, attempts=1)

    def latest(self, key: str) -> Pool | None:
        return self._informer.pools.get(key)

    async def snapshot(self, found: Pool) -> BudgetSnapshot:
        if self._context.switches.why_paused(BUSY_IS_PROTECTED):
            raise NotNow(self._context.clock.now() + WAIT)
        return self._snapshots.take(found)

    def plan(self, snapshot: BudgetSnapshot) -> BudgetStep:
        return plan_budget(snapshot)

    async def delete(self, current: BudgetPass) -> BudgetPass:
        budget = current.snapshot.found
        if current.plan is BudgetStep.REMOVE and budget is not None:
            await self._remove(current.found, budget)
        return current

    async def create(self, current: BudgetPass) -> BudgetPass:
        pool, snapshot = current.found, current.snapshot
        match current.plan:
            case BudgetStep.CREATE:
                return await self._create(current)
            case BudgetStep.REPAIR if snapshot.found is not None:
                await self._repair(snapshot, snapshot.found)
            case BudgetStep.WAIT:
                return current.wake(self._context.clock.now() + WAIT)
            case BudgetStep.REFUSE:
                log.warning(
                    "a budget that Mooring did not create has the pool's name", pool=pool.key, budget=budget_name(pool)
                )
        return current

    async def _create(self, current: BudgetPass) -> BudgetPass:
        pool, snapshot = current.found, current.snapshot
        body = budget_manifest(pool, snapshot.ledger)
        try:
            # Whose it is, and what to do about it, is for the plan to say.
            view, fresh = await self._creator.create(BUDGETS, body, pool.namespace, lambda _: True)
        except NameTaken:  # it is being deleted
            return current.wake(self._context.clock.now() + WAIT)
        if fresh:
            return current
        # Not in our cache: it lost its label, or belongs to somebody else, or the watch lags.
        seen = replace(snapshot, found=budget_from_view(view))
        return await self.create(replace(current, snapshot=seen, plan=self.plan(seen)))

    async def _repair(self, snapshot: BudgetSnapshot, found: Budget) -> None:
        pool = snapshot.pool
        log.warning("another client changed a budget", pool=pool.key, budget=found.name)
        await self._context.client.json_patch(
            BUDGETS,
            found.name,
            [
                {"op": "test", "path": "/metadata/uid", "value": found.uid},
                {"op": "test", "path": "/metadata/resourceVersion", "value": found.resource_version},
                {"op": "add", "path": "/metadata/labels", "value": budget_labels(pool, snapshot.ledger)},
                {"op": "replace", "path": "/spec", "value": budget_spec(pool)},
            ],
            found.namespace,
        )

    async def _remove(self, pool: Pool, found: Budget) -> None:
        """As the pool's spec asks: written down before, with both preconditions."""

        async def remove() -> Result:
            await self._context.client.delete(
                BUDGETS, found.name, found.namespace, uid=found.uid, resource_version=found.resource_version
            )
            return DONE

        await self._context.auditor.carry_out(
            remove,
            actor=f"pool/{pool.key}",
            action="delete",
            subject=Subject("PodDisruptionBudget", found.namespace, found.name, found.uid),
            reason="its pool wants none (protection.budget is false)",
            evidence={"pool": pool.key, "generation": pool.generation},
        )
