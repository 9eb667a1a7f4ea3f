"""Changes of conditions that deserve an Event."""

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.why import Condition

SUMMARIES = frozenset({"Ready", "Serving", "Accepted", "Finished"})
"""Conditions that sum up their object. Of the others only failures and recoveries are reported."""

_POOLS_AND_WORK = {"Starting", "Pending", "Waiting", "Warming", "Submitting", "Running"}
_SERVICES = {
    *("NotApplied", "NotCreated", "NoEndpoints"),
    *("Applying", "RollingOut", "EndpointsNotReady", "DocumentNotRead", "ScaledToZero"),
}
_UNDER_WAY = _POOLS_AND_WORK | _SERVICES
_FAILURES = frozenset({"Failed"})
_BAD_WHEN_TRUE = frozenset({"RolledBack"})


@dataclass(frozen=True, slots=True)
class Transition:
    """A condition with a new status or reason, and whether it needs attention."""

    condition: Condition
    warning: bool


def compute_transitions(before: Iterable[Condition], after: Iterable[Condition]) -> tuple[Transition, ...]:
    """What an operator wants to see in `kubectl describe`; a new message alone is no change."""
    known = {condition.type: condition for condition in before}
    found = []
    for condition in after:
        earlier = known.get(condition.type)
        if earlier is not None and (earlier.status, earlier.reason) == (condition.status, condition.reason):
            continue
        warning = is_warning(condition)
        recovered = earlier is not None and is_warning(earlier)
        if warning or recovered or condition.type in SUMMARIES:
            found.append(Transition(condition, warning))
    return tuple(found)


def is_warning(condition: Condition) -> bool:
    """Whether the condition says that something is wrong, not only that it is not finished."""
    if condition.reason in _FAILURES:
        return True
    if condition.type in _BAD_WHEN_TRUE:
        return condition.status == "True"
    return condition.status == "False" and condition.reason not in _UNDER_WAY
