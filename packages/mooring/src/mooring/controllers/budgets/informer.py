"""The disruption budgets that carry our label."""

from collections.abc import Mapping

from hawser.cache import Change
from hawser.resources import BUDGETS
from hawser.views import PodDisruptionBudget
from mooring.controllers.fleet import Fleet
from mooring.engine.context import Context
from mooring.engine.informer import Informer
from mooring.kinds.budgets import budget_from_view
from mooring.model import names
from mooring.model.budget import Budget, budget_name
from mooring.model.pool import Pool


class BudgetInformer(Informer):
    """Notifies of kind "budget" with the key of the pool whose budget changed."""

    def __init__(self, context: Context, fleet: Fleet) -> None:
        super().__init__(context.client, context.clock, context.entropy)
        self._fleet = fleet
        self._budgets = self.reflect("budgets", BUDGETS, label_selector=names.POOL)
        self._budgets.subscribe(self._on_budget)

    @property
    def pools(self) -> Mapping[str, Pool]:
        return self._fleet.pools

    def budget(self, pool: Pool) -> Budget | None:
        """The budget under the pool's name."""
        view = self._budgets.cache.get(pool.namespace, budget_name(pool))
        return budget_from_view(view) if view is not None else None

    def _on_budget(self, change: Change[PodDisruptionBudget]) -> None:
        meta = change.latest.metadata
        for pool in self._fleet.pools.values():
            if pool.namespace == meta.namespace and budget_name(pool) == meta.name:
                self._notify("budget", pool.key)
