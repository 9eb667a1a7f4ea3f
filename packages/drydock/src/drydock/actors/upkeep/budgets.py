"""PodDisruptionBudget status: how many of the selected pods are healthy, and how many may be disrupted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from drydock.actors.machinery.events import Broadcaster, Note, Weight
from drydock.actors.machinery.informers import BY_NAMESPACE, Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Key,
    Object,
    controller_of,
    controller_uid,
    find_condition,
    is_terminating,
    key_of,
    labels_of,
    moment_of,
    namespace_of,
    spec_of,
    status_of,
    uid_of,
    version_of,
)
from drydock.actors.machinery.own_writes import OwnWrites
from drydock.actors.machinery.pods import is_ready
from drydock.actors.machinery.selection import Selection
from drydock.actors.upkeep.scales import ScaleLookup
from drydock.actors.workloads.rollout import scaled
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import NotFound, ObjectConflict
from hawser.fitting.selectors import compile_selector
from hawser.resources import BUDGETS
from hawser.views.base import format_time

_DELETION_TIMEOUT = timedelta(minutes=2)
_BUDGETS = BUDGETS.raw()


@dataclass(frozen=True, slots=True)
class Expectation:
    """How many pods there should be, and how many of them healthy."""

    pods: int
    healthy: int


def expect(budget: Object, pod_count: int, scale: int) -> Expectation:
    """A whole `minAvailable` counts the pods themselves; everything else is a share of their owners' scale."""
    spec = spec_of(budget)
    if (most := spec.get("maxUnavailable")) is not None:
        return Expectation(scale, max(0, scale - scaled(most, scale, round_up=True)))
    least = spec.get("minAvailable", 0)
    if isinstance(least, int):
        return Expectation(pod_count, least)
    return Expectation(scale, scaled(least, scale, round_up=True))


def needs_scale(budget: Object) -> bool:
    spec = spec_of(budget)
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def live_disruptions(budget: Object, find: Callable[[str], Object | None], now: datetime) -> dict[str, Object]:
    """Pods whose eviction was granted and may still lead to a deletion: those that are there and not going."""
    granted: Mapping[str, str] = status_of(budget).get("disruptedPods") or {}
    alive: dict[str, Object] = {}
    for name, stamp in granted.items():
        pod = find(name)
        if pod is not None and not is_terminating(pod) and moment_of(stamp) + _DELETION_TIMEOUT >= now:
            alive[name] = pod
    return alive


def is_healthy(pod: Object) -> bool:
    return is_ready(pod) and not is_terminating(pod)


def compute_status(
    budget: Object, healthy: int, disrupted: Mapping[str, Object], expected: Expectation, now: datetime
) -> Object:
    """The whole status. A budget without pods allows nothing, so that it is safe when its first pods appear."""
    healthy -= sum(1 for pod in disrupted.values() if is_healthy(pod))
    allowed = max(0, healthy - expected.healthy) if expected.pods > 0 else 0
    generation = budget["metadata"].get("generation", 0)
    status: Object = {
        "currentHealthy": healthy,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
        "disruptionsAllowed": allowed,
        "observedGeneration": generation,
    }
    if disrupted:
        granted = status_of(budget)["disruptedPods"]
        status["disruptedPods"] = {name: granted[name] for name in disrupted}
    told = ("True", "SufficientPods") if allowed > 0 else ("False", "InsufficientPods")
    status["conditions"] = _with_condition(budget, *told, "", generation, now)
    return status


def failed_status(budget: Object, message: str, now: datetime) -> Object:
    """When the scale is unknown, nothing may be disrupted."""
    status = {**status_of(budget), "disruptionsAllowed": 0}
    for name in ("currentHealthy", "desiredHealthy", "expectedPods"):
        status.setdefault(name, 0)
    generation = status.get("observedGeneration", 0)
    status["conditions"] = _with_condition(budget, "False", "SyncFailed", message, generation, now)
    return status


def next_check(budget: Object, disrupted: Mapping[str, Object], now: datetime) -> float | None:
    """Seconds until the first granted eviction is given up."""
    granted = status_of(budget).get("disruptedPods") or {}
    ends = [(moment_of(granted[name]) + _DELETION_TIMEOUT - now).total_seconds() for name in disrupted]
    return max(1.0, min(ends) + 1.0) if ends else None


class BudgetController:
    """Keeps budgets true to their pods; a pod's change costs a look at its own budgets, not at all pods."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, events: Broadcaster) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._recorder = events.recorder("controllermanager")
        self._scales = ScaleLookup(client, informers)
        self._selection = Selection()
        self._healthy: dict[Key, set[Key]] = {}  # budget -> its healthy pods
        self._own_statuses = OwnWrites(clock)
        self._written: dict[Key, int] = {}  # the version of the last own status of each budget
        self.loop: ReconcileLoop[Key] = ReconcileLoop("budgets", self._reconcile, clock)
        informers.budgets.subscribe(self._on_budget)
        informers.pods.subscribe(self._on_pod)
        informers.deployments.subscribe(self._on_owner)
        informers.replica_sets.subscribe(self._on_owner)

    def _on_budget(self, change: Change[Object]) -> None:
        budget = change.latest
        if change.new is None:
            self._selection.drop(key_of(budget))
            self._healthy.pop(key_of(budget), None)
            self._written.pop(key_of(budget), None)
            self._own_statuses.forget_owner(uid_of(budget))
            return
        if change.old is None or spec_of(change.old).get("selector") != spec_of(budget).get("selector"):
            pods = self._informers.pods.cache.by_index(BY_NAMESPACE, namespace_of(budget))
            self._selection.select(key_of(budget), compile_selector(spec_of(budget).get("selector")), pods)
            selected = (self._informers.pods.cache.get(*place) for place in self._selection.members(key_of(budget)))
            self._healthy[key_of(budget)] = {key_of(pod) for pod in selected if pod is not None and is_healthy(pod)}
        if self._written.get(key_of(budget)) != version_of(budget):  # our own status is no news
            self.loop.add(key_of(budget))

    def _on_pod(self, change: Change[Object]) -> None:
        pod = change.latest
        place = key_of(pod)
        if change.new is None:
            touched = self._selection.remove(place)
        elif change.old is None or labels_of(change.old) != labels_of(change.new):
            touched = self._selection.place(change.new)
        elif _counts_the_same(change.old, change.new):
            return
        else:
            touched = self._selection.selectors_of(place)
        healthy = change.new is not None and is_healthy(change.new)
        for budget in touched:
            if healthy and self._selection.selects(budget, place):
                self._healthy[budget].add(place)
            else:
                self._healthy[budget].discard(place)
            self.loop.add(budget)

    def _on_owner(self, change: Change[Object]) -> None:
        """A changed size changes what a share of it means."""
        if change.old is None or change.new is None or spec_of(change.old) == spec_of(change.new):
            return
        for budget in self._informers.budgets.cache.by_index(BY_NAMESPACE, namespace_of(change.new)):
            if needs_scale(budget):
                self.loop.add(key_of(budget))

    async def _reconcile(self, key: Key) -> float | None:
        cached = self._informers.budgets.cache.get(*key)
        if cached is None:
            return None
        budget = self._own_statuses.over(uid_of(cached), [cached])[0]
        count = self._selection.count(key)
        if not count:
            self._tell(budget, "Normal", "NoPods", "No matching pods found")
        now = self._clock.now()
        disrupted = live_disruptions(budget, lambda name: self._informers.pods.cache.get(key[0], name), now)
        try:
            expected = expect(budget, count, await self._scale(budget) if needs_scale(budget) else 0)
        except NotFound as error:
            message = f"Failed to calculate the number of expected pods: {error.message}"
            self._tell(budget, "Warning", "CalculateExpectedPodCountFailed", message)
            status = failed_status(budget, error.message, now)
        else:
            status = compute_status(budget, len(self._healthy.get(key, ())), disrupted, expected, now)
        if status != status_of(budget):
            await self._write(budget, status)
        return next_check(budget, disrupted, now)

    async def _write(self, budget: Object, status: Object) -> None:
        try:
            written = await self._client.update(_BUDGETS, {**budget, "status": status}, subresource="status")
        except ObjectConflict:
            # An eviction was granted meanwhile: the cache will show it, and the count starts from there.
            self._own_statuses.forget_owner(uid_of(budget))
            raise
        self._own_statuses.wrote(uid_of(budget), written)
        self._written[key_of(budget)] = version_of(written)

    async def _scale(self, budget: Object) -> int:
        """The sum of the scales of all controllers of the pods."""
        scales: dict[str, int] = {}
        seen: set[str] = set()
        unmanaged = False
        for place in self._selection.members(key_of(budget)):
            pod = self._informers.pods.cache.get(*place)
            owner = controller_of(pod) if pod is not None else None
            if owner is None:
                unmanaged = True
            elif pod is not None and owner["uid"] not in seen:
                seen.add(owner["uid"])
                uid, scale = await self._scales.find(pod, owner)
                scales[uid] = scale
        if unmanaged:
            self._tell(budget, "Warning", "UnmanagedPods", _UNMANAGED.format(spec_of(budget).get("selector")))
        return sum(scales.values())

    def _tell(self, budget: Object, weight: Weight, reason: str, message: str) -> None:
        self._recorder.record(Note(budget, "PodDisruptionBudget", _BUDGETS.api_version, weight, reason, message))


_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


def _counts_the_same(old: Object, new: Object) -> bool:
    return (is_ready(old), is_terminating(old), controller_uid(old)) == (
        is_ready(new),
        is_terminating(new),
        controller_uid(new),
    )


def _with_condition(
    budget: Object, status: str, reason: str, message: str, generation: int, now: datetime
) -> list[Object]:
    current: list[Object] = status_of(budget).get("conditions") or []
    old = find_condition(current, "DisruptionAllowed")
    stamp = format_time(now)
    if old is not None and old.get("status") == status:
        stamp = old.get("lastTransitionTime", stamp)
    new: Object = {"type": "DisruptionAllowed", "status": status, "reason": reason, "message": message}
    if generation:
        new["observedGeneration"] = generation
    others = [one for one in current if one.get("type") != "DisruptionAllowed"]
    return [*others, {**new, "lastTransitionTime": stamp}]
