"""ProtectionBounded while a NodePool is patched: each node keeps the bound of its own NodeClaim."""

import pytest

from drydock import NodeTemplate
from drydock.faults import Answer, Rule
from hawser.resources import NODES, PODS
from mooring.kinds.karpenter import NODECLAIMS, NODEPOOLS
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.autoscaler import install_karpenter, node_claim, node_pool
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"
WORK = NodeTemplate({"karpenter.sh/nodepool": "work"})


async def bound(world: Harbour) -> dict[str, str]:
    conditions = (await world.status()).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "ProtectionBounded"), {"status": "", "message": ""})


async def until_bound(world: Harbour, reason: str) -> dict[str, str]:
    async def said() -> bool:
        return (await bound(world)).get("reason") == reason

    await world.until(said, 150, f"ProtectionBounded with the reason {reason}")
    return await bound(world)


@pytest.mark.world(nodes=0)
async def test_protection_is_bounded_when_the_last_node_of_before_the_patch_is_replaced(world):
    await install_karpenter(world)
    await world.client.create(NODEPOOLS, node_pool("work"))
    for name in ("work-a", "work-b"):
        await world.sandbox.fleet.add_node(name, WORK)
        await world.client.create(NODECLAIMS, node_claim(f"claim-{name}", name))
    replica = world.start()
    await world.pool(warm=1, max=4, reuse="Always", placement={"nodePool": "work"})
    await world.until_idle(1)
    claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme"))
    busy = (await world.client.get(PODS, claim.pod_name, NAMESPACE)).spec.node_name
    free = "work-b" if busy == "work-a" else "work-a"
    assert "kubectl patch nodepool work" in (await until_bound(world, "NodePoolUnbounded"))["message"]

    patch = {"spec": {"template": {"spec": {"terminationGracePeriod": "4200s"}}}}
    await world.client.merge_patch(NODEPOOLS, "work", patch)
    said = await until_bound(world, "NodeClaimUnbounded")
    assert said["status"] == "False"
    assert said["message"].index(free) < said["message"].index(busy), "the node without a session goes first"
    assert said["message"].endswith(f"; apply: kubectl cordon {free}")
    await world.client.merge_patch(NODES, free, {"spec": {"unschedulable": True}})

    async def deletable() -> bool:
        return (await bound(world))["message"].endswith(f"; apply: kubectl delete nodeclaim claim-{free}")

    await world.until(deletable, 150, "the closed node may be deleted")

    for name in (free, busy):
        if name == busy:
            await replica.mooring.claims.desk.release(claim.id, claim.epoch)
        await world.client.merge_patch(NODECLAIMS, f"claim-{name}", {"metadata": {"finalizers": None}})
        await world.client.delete(NODECLAIMS, f"claim-{name}")
        await world.sandbox.fleet.remove_node(name)
        await world.sandbox.fleet.add_node(f"{name}-2", WORK)
        await world.client.create(NODECLAIMS, node_claim(f"claim-{name}-2", f"{name}-2", "4200s"))
        await world.clock.sleep(5)
        assert (await bound(world))["status"] == ("False" if name == free else "True")


@pytest.mark.world(nodes=0)
@pytest.mark.parametrize("kind", ["nodeclaims", "nodepools"])
async def test_a_bound_is_unknown_while_karpenter_may_not_be_read_and_judged_once_it_may(world, kind):
    await install_karpenter(world)
    await world.client.create(NODEPOOLS, node_pool("work", "4200s"))
    await world.sandbox.fleet.add_node("work-a", WORK)
    await world.client.create(NODECLAIMS, node_claim("claim-a", "work-a", "4200s"))
    forbidden = Answer(403, "Forbidden", f'{kind}.karpenter.sh is forbidden: User "mooring" cannot list resource')
    world.start(rules=[Rule(forbidden, path=rf"/{kind}$", nth=frozenset({1, 2}))])
    await world.pool(warm=1, max=4, placement={"nodePool": "work"})
    said = await until_bound(world, "NodeClaimsUnread")
    assert said["status"] == "Unknown" and "work-a" in said["message"]
    assert (await until_bound(world, "Bounded"))["status"] == "True"


@pytest.mark.world(nodes=0)
async def test_a_bound_is_unknown_until_the_kinds_of_karpenter_are_read_also_when_they_are_installed_later(world):
    await world.sandbox.fleet.add_node("work-a", WORK)
    world.start()
    await world.pool(warm=1, max=4, placement={"nodeSelector": dict(WORK.labels)})
    said = await until_bound(world, "NodeClaimsUnread")
    assert said["status"] == "Unknown" and "work-a" in said["message"]

    await install_karpenter(world)
    await world.client.create(NODEPOOLS, node_pool("work"))
    await world.client.create(NODECLAIMS, node_claim("claim-a", "work-a"))
    seen = {(await bound(world))["status"]}
    while "False" not in seen:
        await world.clock.sleep(1)
        seen.add((await bound(world))["status"])
    assert seen == {"Unknown", "False"}, "nothing is said to be bounded before it was read"
