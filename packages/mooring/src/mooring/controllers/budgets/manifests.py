"""The PodDisruptionBudget of a pool, built as data."""

from typing import Any

from hawser.resources import BUDGETS
from mooring.engine.ownership import owner_reference
from mooring.model.budget import budget_labels, budget_name, budget_spec
from mooring.model.pool import Pool


def budget_manifest(pool: Pool, ledger: str) -> dict[str, Any]:
    """The pool owns it: deleting the pool, or its CRD, removes the budget."""
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
