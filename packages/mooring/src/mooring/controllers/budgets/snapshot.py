"""What the decision about a pool's budget looks at, frozen."""

from mooring.controllers.budgets.informer import BudgetInformer
from mooring.engine.context import Context
from mooring.model.pool import Pool
from mooring.planning.budgets.plan import BudgetSnapshot


class BudgetSnapshots:
    """Takes them. Nothing is remembered."""

    def __init__(self, context: Context, informer: BudgetInformer) -> None:
        self._ledger = context.ledger
        self._informer = informer

    def take(self, pool: Pool) -> BudgetSnapshot:
        """The budget of one pool, as the cache shows it."""
        return BudgetSnapshot(pool, self._informer.budget(pool), self._ledger.incarnation.id)
