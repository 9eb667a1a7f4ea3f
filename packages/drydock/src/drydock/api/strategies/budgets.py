"""PodDisruptionBudgets."""

from collections.abc import Iterator

from drydock.api.answers.causes import invalid, not_supported
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Context, Object
from drydock.api.strategies.selection import as_shown, wrong_selector
from drydock.api.strategies.split import SplitStrategy
from drydock.api.strategies.workloads import wrong_count, wrong_over_all, wrong_share

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def _as_go_struct(spec: Object) -> Object:
    names = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    shown = {name[0].upper() + name[1:]: spec.get(name) for name in names}
    return {**shown, "Selector": as_shown(spec.get("selector"))}


class BudgetStrategy(SplitStrategy):
    def initial_status(self, new: Object, context: Context) -> Object:
        return dict.fromkeys(_COUNTS, 0)

    def wrong(self, new: Object) -> Iterator[Cause]:
        spec = new.setdefault("spec", {})
        if "minAvailable" in spec and "maxUnavailable" in spec:
            yield invalid("spec", _as_go_struct(spec), "minAvailable and maxUnavailable cannot be both set")
        for name in ("minAvailable", "maxUnavailable"):
            if name in spec:
                yield from wrong_share(f"spec.{name}", spec[name])
                yield from wrong_over_all(f"spec.{name}", spec[name])
        yield from wrong_selector("spec.selector", spec.get("selector") or {})
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _POLICIES:
            yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)

    def wrong_status(self, new: Object, old: Object) -> Iterator[Cause]:
        return wrong_count("status", new["status"], *_COUNTS)
