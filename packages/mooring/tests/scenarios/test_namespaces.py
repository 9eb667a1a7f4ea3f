"""A Mooring for named namespaces: it reads nothing elsewhere, needs no rights there, and leaves other pools alone."""

from drydock.faults import Answer, Rule
from hawser.resources import NAMESPACES, PODS
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.claim_request import ClaimRequest
from mooring.model.permissions import CLUSTER_SCOPED
from packages.mooring.tests.scenarios.harbour import NAMESPACE

OTHER, FOREIGN = "builders", "strangers"
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
# A collection that is not in a namespace, and not of a kind without one.
EVERYWHERE = rf"^/(api|apis/[^/]+)/v[^/]+/(?!namespaces/|({'|'.join(sorted(CLUSTER_SCOPED))})(/|$))"
REFUSED = [Rule(Answer(403, "Forbidden"), path=path) for path in (EVERYWHERE, f"/namespaces/{FOREIGN}/")]


async def make_pool(world, namespace: str, warm: int) -> None:
    await world.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": {"name": "linux"}}
    await world.client.create(WORKERPOOLS, {**body, "spec": {"template": TEMPLATE, "warm": warm, "max": 5}}, namespace)


async def pods_in(world, namespace: str) -> list[str]:
    return [pod.metadata.name for pod in (await world.client.list(PODS, namespace)).items]


async def test_pools_of_its_namespaces_work_and_those_of_others_are_left_alone(world):
    replica = world.start(rules=REFUSED, namespaces=(NAMESPACE, OTHER))
    await world.pool(warm=2, max=4, reuse="Always")
    await make_pool(world, OTHER, warm=1)
    await make_pool(world, FOREIGN, warm=3)
    await world.until_idle(2)

    async def settled() -> bool:
        return len(await pods_in(world, OTHER)) == 1

    await world.until(settled, 60, "the other pool has its worker")
    claim = await replica.mooring.claims.desk.claim(f"{NAMESPACE}/linux", ClaimRequest("acme"))
    await world.client.delete(PODS, next(n for n in await pods_in(world, NAMESPACE) if n != claim.pod_name), NAMESPACE)
    await world.clock.sleep(120)
    assert len(await pods_in(world, NAMESPACE)) == 3
    assert await pods_in(world, FOREIGN) == []
    assert not [call for call in replica.process.calls if f"/namespaces/{FOREIGN}/" in call.path]
    assert not replica.mooring.readiness.obstacles


async def test_nothing_is_read_across_namespaces_and_the_doctor_asks_for_each_namespace(world):
    replica = world.start(rules=REFUSED, namespaces=(NAMESPACE,))
    await world.pool(warm=1, max=2)
    await world.until_idle(1)
    report = await replica.mooring.queries.doctor.examine()
    assert not [check for check in report.checks if check.status == "fail"], report.checks
    assert not [call for call in replica.process.calls if "Answer" in call.effects]
