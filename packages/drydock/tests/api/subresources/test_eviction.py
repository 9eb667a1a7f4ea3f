from typing import Any

import pytest

from packages.drydock.tests.api.caller import PODS, Answer, Caller, caller

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CANNOT = "Cannot evict pod as it would violate the pod's disruption budget."


async def running_pod(call: Caller, name: str = "p", *, ready: bool = True) -> Answer:
    await call.pod(name, node="n", labels={"app": "x"})
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return await call.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": conditions}})


async def budget(
    call: Caller, name: str = "b", *, allowed: int = 0, healthy: int = 1, desired: int = 1, **spec: Any
) -> None:
    body = {"minAvailable": desired, "selector": {"matchLabels": {"app": "x"}}, **spec}
    made = await call.post(BUDGETS, {"metadata": {"name": name}, "spec": body})
    assert made.status == 201, made.raw
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": healthy,
    }
    assert (await call.patch(f"{BUDGETS}/{name}/status", {"status": status})).status == 200


async def evict(call: Caller, name: str = "p", query: str = "", **options: Any) -> Answer:
    body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options:
        body["deleteOptions"] = options
    return await call.post(f"{PODS}/{name}/eviction{query}", body)


async def test_a_pod_without_a_budget_is_evicted_gracefully_and_marked_as_a_target() -> None:
    call = caller()
    await running_pod(call)
    answer = await evict(call)
    assert (answer.status, answer.body["status"]) == (201, "Success")
    pod = await call.get(f"{PODS}/p")
    assert pod.meta["deletionGracePeriodSeconds"] == 30
    target = pod.body["status"]["conditions"][-1]
    assert (target["type"], target["status"], target["reason"]) == ("DisruptionTarget", "True", "EvictionByEvictionAPI")


async def test_a_budget_with_nothing_left_refuses() -> None:
    call = caller()
    await running_pod(call)
    await budget(call, allowed=0)
    answer = await evict(call)
    assert (answer.status, answer.message, answer.body["reason"]) == (429, CANNOT, "TooManyRequests")
    assert answer.body["details"]["causes"] == [
        {"reason": "DisruptionBudget", "message": "The disruption budget b needs 1 healthy pods and has 1 currently"}
    ]
    assert "retry-after" not in answer.headers
    assert "deletionTimestamp" not in (await call.get(f"{PODS}/p")).meta


async def test_a_budget_that_has_not_been_looked_at_yet_refuses_for_ten_seconds() -> None:
    call = caller()
    await running_pod(call)
    await budget(call, allowed=1)
    await call.patch(f"{BUDGETS}/b", {"spec": {"minAvailable": 5}})
    answer = await evict(call)
    assert answer.status == 429 and answer.headers["retry-after"] == "10"
    assert answer.body["details"]["causes"][0]["message"] == (
        "The disruption budget b is still being processed by the server."
    )


async def test_an_eviction_is_taken_from_the_budget_and_remembered_there() -> None:
    call = caller()
    await running_pod(call, "p")
    await running_pod(call, "q")
    await budget(call, allowed=1, healthy=2)
    assert (await evict(call, "p")).status == 201
    status = (await call.get(f"{BUDGETS}/b")).body["status"]
    assert status["disruptionsAllowed"] == 0
    assert status["disruptedPods"] == {"p": "2026-03-01T12:00:00Z"}
    (condition,) = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )
    assert (await evict(call, "q")).status == 429


async def test_two_budgets_are_one_too_many() -> None:
    call = caller()
    await running_pod(call)
    await budget(call, "one", allowed=1)
    await budget(call, "two", allowed=1)
    answer = await evict(call)
    assert (answer.status, answer.message) == (
        500,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    )


async def test_a_budget_for_others_does_not_count() -> None:
    call = caller()
    await running_pod(call)
    await budget(call, allowed=0, selector={"matchLabels": {"app": "other"}})
    assert (await evict(call)).status == 201


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_a_pod_that_is_not_running_needs_no_budget(phase: str) -> None:
    call = caller()
    await call.pod("p", node="n", labels={"app": "x"})
    await call.patch(f"{PODS}/p/status", {"status": {"phase": phase}})
    await budget(call, allowed=0)
    assert (await evict(call)).status == 201


async def test_a_pod_that_is_already_going_needs_no_budget() -> None:
    call = caller()
    await running_pod(call)
    await budget(call, allowed=0)
    await call.delete(f"{PODS}/p")
    assert (await evict(call)).status == 201


@pytest.mark.parametrize(
    ("policy", "healthy", "desired", "status"),
    [
        (None, 1, 1, 201),
        (None, 0, 1, 429),
        (None, 1, 0, 429),
        ("IfHealthyBudget", 1, 1, 201),
        ("IfHealthyBudget", 0, 1, 429),
        ("AlwaysAllow", 0, 1, 201),
    ],
)
async def test_a_pod_that_is_not_ready_goes_as_the_policy_says(
    policy: str | None, healthy: int, desired: int, status: int
) -> None:
    call = caller()
    await running_pod(call, ready=False)
    options = {"unhealthyPodEvictionPolicy": policy} if policy else {}
    await budget(call, allowed=0, healthy=healthy, desired=desired, **options)
    assert (await evict(call)).status == status
    assert (await call.get(f"{BUDGETS}/b")).body["status"]["disruptionsAllowed"] == 0


async def test_a_dry_run_asks_the_budget_and_takes_nothing() -> None:
    call = caller()
    pod = await running_pod(call)
    await budget(call, allowed=1)
    assert (await evict(call, query="?dryRun=All")).status == 201
    assert (await call.get(f"{BUDGETS}/b")).body["status"]["disruptionsAllowed"] == 1
    assert (await call.get(f"{PODS}/p")).body == pod.body
    await call.patch(f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": 0}})
    assert (await evict(call, dryRun=["All"])).status == 429


async def test_preconditions_hold() -> None:
    call = caller()
    pod = await running_pod(call)
    wrong = await evict(call, preconditions={"uid": "other"})
    assert wrong.status == 409 and "the UID in the precondition (other)" in wrong.message
    stale = await evict(call, preconditions={"resourceVersion": "1"})
    assert stale.status == 409 and "the ResourceVersion in the precondition (1)" in stale.message
    right = {"uid": pod.meta["uid"], "resourceVersion": pod.meta["resourceVersion"]}
    assert (await evict(call, preconditions=right, gracePeriodSeconds=7)).status == 201
    assert (await call.get(f"{PODS}/p")).meta["deletionGracePeriodSeconds"] == 7


async def test_an_unready_pod_of_another_uid_is_to_be_tried_again() -> None:
    call = caller()
    await running_pod(call, ready=False)
    await budget(call, allowed=0)
    answer = await evict(call, preconditions={"uid": "other"})
    assert answer.status == 429 and answer.headers["retry-after"] == "10"


async def test_the_eviction_must_be_of_a_pod_that_exists_and_is_named() -> None:
    call = caller()
    assert (await evict(call, "missing")).status == 404
    await running_pod(call)
    answer = await call.post(f"{PODS}/p/eviction", {"metadata": {"name": "other"}})
    assert (answer.status, answer.message) == (400, "name in URL does not match name in Eviction object")
    assert (await call.get(f"{PODS}/p/eviction")).status == 405


async def test_a_budget_of_the_whole_namespace_counts_for_pods_without_labels() -> None:
    call = caller()
    await call.pod("bare", node="n")
    await call.patch(f"{PODS}/bare/status", {"status": {"phase": "Running"}})
    await budget(call, allowed=0, healthy=0, selector={})
    assert (await evict(call, "bare")).status == 429
