"""One disruption budget a pool: made, repaired and removed as the pool asks; and those that nobody looks after."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from mooring.model import names
from mooring.model.budget import Budget, budget_labels, budget_spec
from mooring.model.pool import Pool


class BudgetStep(StrEnum):
    """What to do about a pool's budget."""

    NOTHING = "nothing"
    CREATE = "create"
    REPAIR = "repair"
    REMOVE = "remove"
    WAIT = "wait"  # for the garbage collector, which takes what an older pool of that name left
    REFUSE = "refuse"  # the name is taken by somebody else's: left alone, and told


@dataclass(frozen=True, slots=True)
class AbandonedBudget:
    """A budget that may block drains for ever, because nobody takes the busy label off any more."""

    namespace: str
    name: str
    because: str

    @property
    def fix(self) -> str:
        return f"kubectl -n {self.namespace} delete poddisruptionbudget {self.name}"


def plan_budget(pool: Pool, found: Budget | None, ledger: str) -> BudgetStep:
    """What the pool's budget needs, most often nothing."""
    wanted = pool.spec.protection.budget and not pool.terminating
    if found is None:
        return BudgetStep.CREATE if wanted else BudgetStep.NOTHING
    if found.terminating:
        return BudgetStep.WAIT if wanted else BudgetStep.NOTHING
    if found.pool_uid != pool.uid:
        return (BudgetStep.WAIT if found.pool_uid else BudgetStep.REFUSE) if wanted else BudgetStep.NOTHING
    if not wanted:
        return BudgetStep.NOTHING if pool.terminating else BudgetStep.REMOVE
    labels = {names.POOL: found.pool, names.LEDGER: found.ledger}
    if labels != budget_labels(pool, ledger) or found.spec != budget_spec(pool):
        return BudgetStep.REPAIR
    return BudgetStep.NOTHING


def find_abandoned_budgets(
    budgets: Iterable[Budget], pools: Mapping[str, Pool], ledger: str
) -> tuple[AbandonedBudget, ...]:
    """Budgets whose pool or whose control plane is gone. `ledger` is the incarnation of the one that looks."""
    abandoned = []
    for budget in budgets:
        pool = pools.get(budget.pool_key)
        if budget.terminating:
            continue
        if pool is None or pool.uid != budget.pool_uid:
            because = f"its pool {budget.pool_key} no longer exists"
        elif budget.ledger != ledger:
            because = f"the control plane with ledger {budget.ledger or 'unknown'} that made it is gone"
        else:
            continue
        abandoned.append(AbandonedBudget(budget.namespace, budget.name, because))
    return tuple(abandoned)
