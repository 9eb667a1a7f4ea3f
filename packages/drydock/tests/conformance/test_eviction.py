"""Drains go through the Eviction API, and budgets that cannot be bypassed by it."""

from hawser.errors import EvictionBlocked
from hawser.resources import BUDGETS, PODS
from packages.drydock.tests.conformance.world import HostedCluster, Probe

NEVER = 2147483647


async def _budget(p: Probe, name: str = "b", selector: dict[str, str] | None = None, **spec: object) -> None:
    await p.make(BUDGETS, name, spec={"selector": {"matchLabels": selector or {"busy": "true"}}, **spec})

    async def observed() -> bool:
        return (await p.get(BUDGETS, name)).get("status", {}).get("observedGeneration") == 1

    await p.until(observed)


def test_a_pod_without_budget_is_evicted(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod()
        await p.until_running()
        await p.client.evict("p", p.namespace)
        await p.until_gone(PODS)

    cluster.run(probe)


def test_a_pod_is_refused_eviction_the_instant_it_carries_the_budgets_label(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _budget(p, minAvailable=NEVER)
        await p.pod()
        await p.until_running()
        await p.client.merge_patch(PODS, "p", {"metadata": {"labels": {"busy": "true"}}}, p.namespace)
        error = await p.refusal(p.client.evict("p", p.namespace))
        assert isinstance(error, EvictionBlocked)
        assert error.message == "Cannot evict pod as it would violate the pod's disruption budget."
        assert [cause.reason for cause in error.causes] == ["DisruptionBudget"]

    cluster.run(probe)


def test_once_the_label_is_gone_the_pod_may_go(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _budget(p, minAvailable=NEVER)
        await p.pod(labels={"busy": "true"})
        await p.until_running()
        assert await p.code(p.client.evict("p", p.namespace)) == 429
        await p.client.merge_patch(PODS, "p", {"metadata": {"labels": {"busy": None}}}, p.namespace)
        await p.client.evict("p", p.namespace)
        await p.until_gone(PODS)

    cluster.run(probe)


def test_a_busy_pod_that_is_not_ready_is_kept_by_the_default_policy(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _budget(p, minAvailable=NEVER)
        probes = {"readinessProbe": {"tcpSocket": {"port": 1}}}
        script = '{"runs": [{"readySeconds": 9999}]}'
        await p.pod(labels={"busy": "true"}, container=probes, annotations={"drydock.dev/script": script})
        await p.until_running()
        assert await p.code(p.client.evict("p", p.namespace)) == 429

    cluster.run(probe)


def test_two_budgets_over_one_pod_are_an_error_of_the_server(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _budget(p, "one", minAvailable=0)
        await _budget(p, "two", minAvailable=0)
        await p.pod(labels={"busy": "true"})
        await p.until_running()
        error = await p.refusal(p.client.evict("p", p.namespace))
        assert error.status.code == 500
        assert "more than one PodDisruptionBudget" in error.message

    cluster.run(probe)


def test_a_plain_delete_bypasses_the_budget(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _budget(p, minAvailable=NEVER)
        await p.pod(labels={"busy": "true"})
        await p.until_running()
        await p.client.delete(PODS, "p", p.namespace)
        await p.until_gone(PODS)

    cluster.run(probe)


def test_a_count_allows_as_many_as_are_spare(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        for name in ("a", "b", "c"):
            await p.pod(name, labels={"busy": "true"})
            await p.until_running(name)
        await _budget(p, minAvailable=2)

        async def allows_one() -> bool:
            return (await p.get(BUDGETS, "b"))["status"].get("disruptionsAllowed") == 1

        await p.until(allows_one)
        await p.client.evict("a", p.namespace)
        assert await p.code(p.client.evict("b", p.namespace)) == 429

    cluster.run(probe)


def test_a_pending_pod_is_evicted_in_spite_of_a_budget(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _budget(p, minAvailable=NEVER)
        await p.pod(labels={"busy": "true"}, nodeSelector={"disk": "none"})
        await p.client.evict("p", p.namespace)
        await p.until_gone(PODS)

    cluster.run(probe)


def test_the_status_of_a_budget_counts_its_pods(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(labels={"busy": "true"})
        await p.until_running()
        await _budget(p, minAvailable=1)

        async def counted() -> bool:
            status = (await p.get(BUDGETS, "b"))["status"]
            return (status["currentHealthy"], status["desiredHealthy"], status["expectedPods"]) == (1, 1, 1)

        await p.until(counted)

    cluster.run(probe)
