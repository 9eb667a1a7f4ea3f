"""What a pool's disruption budget needs, and which budgets nobody looks after."""

from dataclasses import replace

import pytest

from mooring.model.budget import Budget, budget_name, budget_spec
from mooring.planning.budgets.plan import BudgetSnapshot, BudgetStep, find_abandoned_budgets, plan_budget
from packages.mooring.tests.planning.fleets import pool

LEDGER = "incarnation-1"


def budget(**changes: object) -> Budget:
    of = pool()
    found = Budget("runners", budget_name(of), "uid", "7", "linux", of.uid, LEDGER, budget_spec(of))
    return replace(found, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "found", "step"),
    [
        (True, None, BudgetStep.CREATE),
        (True, budget(), BudgetStep.NOTHING),
        (True, budget(spec={**budget().spec, "minAvailable": 1}), BudgetStep.REPAIR),
        (True, budget(spec={**budget().spec, "unhealthyPodEvictionPolicy": "AlwaysAllow"}), BudgetStep.REPAIR),
        (True, budget(ledger="another"), BudgetStep.REPAIR),
        (True, budget(pool=""), BudgetStep.REPAIR),
        (True, budget(pool_uid="an older pool"), BudgetStep.WAIT),
        (True, budget(pool_uid=""), BudgetStep.REFUSE),
        (True, budget(terminating=True), BudgetStep.WAIT),
        (False, None, BudgetStep.NOTHING),
        (False, budget(), BudgetStep.REMOVE),
        (False, budget(pool_uid=""), BudgetStep.NOTHING),
        (False, budget(terminating=True), BudgetStep.NOTHING),
    ],
)
def test_a_budget_is_made_repaired_and_removed_as_its_pool_asks(wanted, found, step):
    assert plan_budget(BudgetSnapshot(pool(protection={"budget": wanted}), found, LEDGER)) is step


def test_budgets_without_a_pool_or_without_their_control_plane_are_found_with_the_command_that_lifts_them():
    of = pool()
    budgets = [
        budget(),
        budget(name="orphan", pool="gone", pool_uid="gone"),
        budget(name="older", pool_uid="an older pool"),
        budget(name="foreign", ledger="another"),
        budget(name="going", pool="gone", terminating=True),
    ]
    found = find_abandoned_budgets(budgets, {of.key: of}, LEDGER)
    assert [(one.name, one.fix) for one in found] == [
        (name, f"kubectl -n runners delete poddisruptionbudget {name}") for name in ("orphan", "older", "foreign")
    ]
    assert "no longer exists" in found[0].because and "another" in found[2].because
