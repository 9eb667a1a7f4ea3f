"""The plan for a pool's disruption budget, and the search for abandoned budgets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from mooring.model import names
from mooring.model.budget import Budget, budget_labels, budget_spec
from mooring.model.pool import Pool


class BudgetStep(StrEnum):
    """What to do with a pool's budget."""

    NOTHING = "nothing"
    CREATE = "create"
    REPAIR = "repair"
    REMOVE = "remove"
    WAIT = "wait"  # until garbage collection has removed the budget of a deleted pool with the same name
    REFUSE = "refuse"  # the name is taken by a foreign budget: it is left alone and reported


@dataclass(frozen=True, slots=True)
class AbandonedBudget:
    """A budget that may block drains for ever, because no control plane maintains the busy labels it selects."""

    namespace: str
    name: str
    because: str

    @property
    def fix(self) -> str:
        return f"kubectl -n {self.namespace} delete poddisruptionbudget {self.name}"


@dataclass(frozen=True, slots=True)
class BudgetSnapshot:
    """A pool, the budget under its name, and the incarnation of the ledger of this control plane."""

    pool: Pool
    found: Budget | None
    ledger: str


def plan_budget(snapshot: BudgetSnapshot) -> BudgetStep:
    """The step that the pool's budget needs; in most cases none."""
    pool, found = snapshot.pool, snapshot.found
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
    if labels != budget_labels(pool, snapshot.ledger) or found.spec != budget_spec(pool):
        return BudgetStep.REPAIR
    return BudgetStep.NOTHING


def find_abandoned_budgets(
    budgets: Iterable[Budget], pools: Mapping[str, Pool], ledger: str
) -> tuple[AbandonedBudget, ...]:
    """Budgets whose pool or control plane is gone. `ledger` is the incarnation of this control plane."""
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
