"""Budgets, put together."""

from mooring.controllers.budgets.informer import BudgetInformer
from mooring.controllers.budgets.reconciler import BudgetReconciler
from mooring.controllers.fleet import Fleet
from mooring.engine.context import Context
from mooring.engine.controller import Controller, Pacing
from mooring.model.pool import Pool
from mooring.planning.budgets.plan import BudgetSnapshot, BudgetStep


class BudgetController(Controller[BudgetInformer, Pool, BudgetSnapshot, BudgetStep]):
    """Keeps one budget a pool while this replica leads."""

    def __init__(self, context: Context, fleet: Fleet) -> None:
        informer = BudgetInformer(context, fleet)
        super().__init__("budgets", context, informer, BudgetReconciler(context, informer), Pacing(concurrency=2))
        fleet.subscribe(self._on_fleet)

    def _on_fleet(self, kind: str, key: str) -> None:
        if kind == "pool":
            self.look_at(key)
