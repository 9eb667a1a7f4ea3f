"""A pool's disruption budget: what makes `kubectl drain` and cloud upgrades wait for working pods.

It never changes. It demands more pods than there can be of those that carry the busy label, so a pod is refused
eviction the instant it carries the label, and an idle one never is (a count that follows the claims leaves a race).
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
    pool_uid: str  # of its owner; empty when no WorkerPool owns it
    ledger: str
    spec: Mapping[str, Any]
    terminating: bool = False

    @property
    def pool_key(self) -> str:
        return f"{self.namespace}/{self.pool}"


def budget_name(pool: Pool) -> str:
    """The same whoever makes it: made twice, it is refused by the API server."""
    return f"{pool.name}-busy"


def budget_spec(pool: Pool) -> dict[str, Any]:
    """No unhealthy policy: `AlwaysAllow` would let a working pod go that is not Ready."""
    return {
        "minAvailable": MORE_THAN_THERE_ARE,
        "selector": {"matchLabels": {names.POOL: pool.name, names.BUSY: "true"}},
    }


def budget_labels(pool: Pool, ledger: str) -> dict[str, str]:
    """`ledger` says whose control plane looks after it, so that one nobody looks after is found."""
    return {names.POOL: pool.name, names.LEDGER: ledger}
