"""Is a node alive, and what follows: conditions, taints, and how fast a sick zone is emptied. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from drydock.actors.machinery.objects import Object, condition_of, find_condition, labels_of, spec_of, status_of
from hawser.views.base import format_time

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_CONDITION_TAINTS: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_OWN_KEYS = frozenset((*_CONDITION_TAINTS.values(), _UNSCHEDULABLE))
_JUDGED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

_NODES_A_SECOND = 0.1
_NODES_A_SECOND_PARTIAL = 0.01
_LARGE_ZONE = 50
_SICK_SHARE = 0.55


def ready_status(node: Object) -> str:
    """True, False or Unknown; Unknown also for a node that never said."""
    condition = condition_of(node, "Ready")
    return str(condition.get("status", "Unknown")) if condition is not None else "Unknown"


def silenced_conditions(node: Object, now: datetime) -> list[Object]:
    """The conditions of a node whose kubelet has gone silent."""
    stamp = format_time(now)
    conditions: list[Object] = list(status_of(node).get("conditions") or ())
    for kind in _JUDGED:
        current = find_condition(conditions, kind)
        if current is None:
            told = {"reason": "NodeStatusNeverUpdated", "message": "Kubelet never posted node status."}
            born = node["metadata"]["creationTimestamp"]
            new = {"type": kind, "status": "Unknown", "lastHeartbeatTime": born, "lastTransitionTime": stamp}
            conditions.append({**new, **told})
        elif current.get("status") != "Unknown":
            told = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
            changed = {**current, "status": "Unknown", "lastTransitionTime": stamp, **told}
            conditions[conditions.index(current)] = changed
    return conditions


def with_schedule_taints(node: Object, now: datetime) -> list[Object] | None:
    """The taints with those that conditions and `unschedulable` call for; None when they are right."""
    wanted = [
        key
        for (kind, status), key in _CONDITION_TAINTS.items()
        if (condition := condition_of(node, kind)) is not None and condition.get("status") == status
    ]
    if spec_of(node).get("unschedulable"):
        wanted.append(_UNSCHEDULABLE)
    current = _taints(node)
    have = [one["key"] for one in current if one["effect"] == "NoSchedule" and one["key"] in _OWN_KEYS]
    if sorted(have) == sorted(wanted):
        return None
    kept = [
        one for one in current if one["effect"] != "NoSchedule" or one["key"] not in _OWN_KEYS or one["key"] in wanted
    ]
    stamp = format_time(now)
    added = [{"key": key, "effect": "NoSchedule", "timeAdded": stamp} for key in wanted if key not in have]
    return [*kept, *added]


def with_execute_taint(node: Object, key: str, now: datetime) -> list[Object] | None:
    """The taints with this one NoExecute taint of ours, or with none when `key` is empty; None when they are right."""
    current = _taints(node)
    ours = [one for one in current if one["effect"] == "NoExecute" and one["key"] in (NOT_READY, UNREACHABLE)]
    if [one["key"] for one in ours] == ([key] if key else []):
        return None
    kept = [one for one in current if one not in ours or one["key"] == key]
    if key and not any(one["key"] == key for one in ours):
        kept.append({"key": key, "effect": "NoExecute", "timeAdded": format_time(now)})
    return kept


def execute_taint_for(node: Object) -> str:
    """The NoExecute taint a node deserves, if any."""
    return {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready_status(node), "")


def has_execute_taint(node: Object) -> bool:
    return any(one["effect"] == "NoExecute" and one["key"] in (NOT_READY, UNREACHABLE) for one in _taints(node))


def zone_of(node: Object) -> str:
    labels = labels_of(node)
    return f"{labels.get('topology.kubernetes.io/region', '')}:{labels.get('topology.kubernetes.io/zone', '')}"


@dataclass(frozen=True, slots=True)
class ZoneRates:
    """How many nodes a second may be emptied in each zone, and whether everything is down."""

    everything_down: bool
    per_second: Mapping[str, float]


def rate_zones(nodes: Iterable[Object]) -> ZoneRates:
    """Slower where more than half of a zone is sick, not at all when no node is ready: then it is us who are sick."""
    counts: dict[str, list[int]] = {}
    for node in nodes:
        ready, sick = counts.setdefault(zone_of(node), [0, 0])
        counts[zone_of(node)] = [ready + 1, sick] if ready_status(node) == "True" else [ready, sick + 1]
    everything_down = bool(counts) and all(ready == 0 for ready, _ in counts.values())
    if everything_down:
        return ZoneRates(True, dict.fromkeys(counts, 0.0))
    return ZoneRates(False, {zone: _rate(ready, sick) for zone, (ready, sick) in counts.items()})


def _rate(ready: int, sick: int) -> float:
    if ready > 0 and sick > 2 and sick / (ready + sick) >= _SICK_SHARE:
        return _NODES_A_SECOND_PARTIAL if ready + sick > _LARGE_ZONE else 0.0
    return _NODES_A_SECOND


def _taints(node: Object) -> Sequence[Object]:
    return spec_of(node).get("taints") or ()
