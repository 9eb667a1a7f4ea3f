"""From a PodDisruptionBudget to what the planner reads."""

from typing import Any

from hawser.views import PodDisruptionBudget
from mooring.model import names
from mooring.model.budget import Budget


def budget_from_view(view: PodDisruptionBudget) -> Budget:
    """As the planner reads it."""
    meta = view.metadata
    owner = meta.controller
    return Budget(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        pool=meta.labels.get(names.POOL, ""),
        pool_uid=owner.uid if owner is not None and owner.kind == "WorkerPool" else "",
        ledger=meta.labels.get(names.LEDGER, ""),
        spec=_spec(view),
        terminating=view.terminating,
    )


def _spec(view: PodDisruptionBudget) -> dict[str, Any]:
    """What is set in its spec, as it stands in a manifest."""
    spec = view.spec
    selector: dict[str, Any] = {}
    if spec.selector is not None and spec.selector.match_labels:
        selector["matchLabels"] = dict(spec.selector.match_labels)
    if spec.selector is not None and spec.selector.match_expressions:
        selector["matchExpressions"] = len(spec.selector.match_expressions)
    given = {
        "minAvailable": spec.min_available,
        "maxUnavailable": spec.max_unavailable,
        "selector": None if spec.selector is None else selector,
        "unhealthyPodEvictionPolicy": spec.unhealthy_pod_eviction_policy or None,
    }
    return {key: value for key, value in given.items() if value is not None}
