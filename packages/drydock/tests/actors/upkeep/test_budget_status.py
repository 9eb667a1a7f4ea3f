"""What a disruption budget allows, as tables."""

from typing import Any

import pytest

from drydock.actors.upkeep.budgets import (
    Expectation,
    compute_status,
    expect,
    failed_status,
    live_disruptions,
    next_check,
)
from packages.drydock.tests.actors.shapes import NOW, a_pod, ago

Object = dict[str, Any]


def a_budget(status: Object | None = None, **spec: Any) -> Object:
    metadata = {"name": "b", "namespace": "default", "uid": "b", "generation": 3}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("spec", "pods", "scale", "expected"),
    [
        ({"minAvailable": 2}, 5, 0, Expectation(5, 2)),
        ({"minAvailable": 2147483647}, 5, 0, Expectation(5, 2147483647)),
        ({"minAvailable": "50%"}, 3, 5, Expectation(5, 3)),
        ({"maxUnavailable": 1}, 3, 5, Expectation(5, 4)),
        ({"maxUnavailable": "30%"}, 3, 5, Expectation(5, 3)),
        ({"maxUnavailable": 9}, 3, 5, Expectation(5, 0)),
    ],
)
def test_only_a_whole_min_available_counts_the_pods_themselves(
    spec: Object, pods: int, scale: int, expected: Expectation
) -> None:
    assert expect(a_budget(**spec), pods, scale) == expected


@pytest.mark.parametrize(
    ("healthy", "expected", "allowed", "reason"),
    [
        (5, Expectation(5, 2), 3, "SufficientPods"),
        (2, Expectation(5, 2), 0, "InsufficientPods"),
        (1, Expectation(5, 2), 0, "InsufficientPods"),
        (0, Expectation(0, 0), 0, "InsufficientPods"),
    ],
)
def test_disruptions_are_allowed_down_to_what_must_stay_healthy(
    healthy: int, expected: Expectation, allowed: int, reason: str
) -> None:
    status = compute_status(a_budget(), healthy, {}, expected, NOW)
    assert (status["disruptionsAllowed"], status["observedGeneration"]) == (allowed, 3)
    assert (status["conditions"][0]["type"], status["conditions"][0]["reason"]) == ("DisruptionAllowed", reason)


def test_a_granted_eviction_counts_until_the_pod_goes_or_two_minutes_have_passed() -> None:
    granted = {"fresh": ago(30), "stale": ago(121), "going": ago(30), "gone": ago(30)}
    budget = a_budget({"disruptedPods": granted})
    pods = {"fresh": a_pod("fresh"), "stale": a_pod("stale"), "going": a_pod("going", terminating=True)}
    disrupted = live_disruptions(budget, pods.get, NOW)
    assert list(disrupted) == ["fresh"]
    status = compute_status(budget, 3, disrupted, Expectation(3, 1), NOW)
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
    assert status["disruptedPods"] == {"fresh": ago(30)}
    assert next_check(budget, disrupted, NOW) == 91.0


def test_when_the_scale_is_unknown_nothing_may_be_disrupted() -> None:
    budget = a_budget({"disruptionsAllowed": 4, "currentHealthy": 5, "desiredHealthy": 1, "expectedPods": 5})
    status = failed_status(budget, "jobs.batch does not implement the scale subresource", NOW)
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 5)
    assert status["conditions"][0]["reason"] == "SyncFailed"
