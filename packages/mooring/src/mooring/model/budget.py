"""A pool's disruption budget: it makes `kubectl drain` and cloud upgrades wait for busy pods.

It is static. It requires more pods with the busy label than can exist, so the API server refuses to evict a pod from
the moment it carries the label, and never refuses an idle one. A count that follows the claims would leave a race.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mooring.model import names
from mooring.model.pool import Pool

MORE_THAN_THERE_ARE: Final = 2_147_483_647


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget that carries our label, as the cluster shows it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    pool: str
    pool_uid: str  # of its owner; empty if no WorkerPool owns it
    ledger: str
    spec: Mapping[str, Any]
    terminating: bool = False

    @property
    def pool_key(self) -> str:
        return f"{self.namespace}/{self.pool}"


def budget_name(pool: Pool) -> str:
    """The same for every replica, so the API server refuses to create it twice."""
    return f"{pool.name}-busy"


def budget_spec(pool: Pool) -> dict[str, Any]:
    """Without an unhealthy pod eviction policy: `AlwaysAllow` would evict busy pods that are not Ready."""
    return {
        "minAvailable": MORE_THAN_THERE_ARE,
        "selector": {"matchLabels": {names.POOL: pool.name, names.BUSY: "true"}},
    }


def budget_labels(pool: Pool, ledger: str) -> dict[str, str]:
    """`ledger` names the control plane that maintains the budget, so that an abandoned one can be found."""
    return {names.POOL: pool.name, names.LEDGER: ledger}
