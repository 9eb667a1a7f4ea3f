"""Nodes in virtual time that hang, lose their disk, go and come back, with scripted pods on them."""

from datetime import timedelta

import pytest

from drydock.actors.kubelet.fleet import FleetOptions
from drydock.faults import LagEvents, Rule
from drydock.runtime.script import Script
from hawser.errors import ObjectNotFound
from hawser.resources import LEASES, NODES, PODS
from packages.drydock.tests.actors.kubelet.virtual_nodes import virtual_nodes


async def test_a_node_that_hangs_is_silent_while_its_containers_run_on() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("busy", Script(run_seconds=100), restartPolicy="Never")
        await world.clock.sleep(1)
        await world.fleet.pause("node-1")
        await world.clock.sleep(20)
        renewed = (await world.client.get(LEASES.raw(), "node-1", "kube-node-lease"))["spec"]["renewTime"]
        await world.client.delete(PODS, "busy", "default")
        await world.clock.sleep(200)
        lease = await world.client.get(LEASES.raw(), "node-1", "kube-node-lease")
        assert lease["spec"]["renewTime"] == renewed
        assert (await world.status("busy"))["phase"] == "Running", "nobody tells that it has ended"
        await world.fleet.resume("node-1")
        await world.clock.sleep(1)
        with pytest.raises(ObjectNotFound):
            await world.pod("busy")


async def test_a_living_node_contradicts_who_calls_it_not_ready() -> None:
    async with virtual_nodes() as world:
        node = await world.client.get(NODES.raw(), "node-1")
        conditions = [
            {**entry, "status": "Unknown"} if entry["type"] == "Ready" else entry
            for entry in node["status"]["conditions"]
        ]
        await world.client.merge_patch(NODES, "node-1", {"status": {"conditions": conditions}}, subresource="status")
        await world.clock.sleep(0.1)
        node = await world.client.get(NODES.raw(), "node-1")
        assert {entry["type"]: entry["status"] for entry in node["status"]["conditions"]}["Ready"] == "True"


async def test_a_wiped_node_starts_its_pods_anew() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("always", Script())
        await world.create_pod("once", Script(run_seconds=1000), restartPolicy="Never")
        await world.clock.sleep(1)
        await world.fleet.wipe("node-1")
        await world.clock.sleep(1)
        container = await world.container("always")
        assert container["restartCount"] == 1
        assert container["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
        assert (await world.status("once"))["phase"] == "Failed"


async def test_a_kubelet_that_starts_anew_writes_nothing_about_pods_that_were_over() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("done", restartPolicy="Never")
        await world.clock.sleep(5)
        before = world.calls["PATCH", "pods"]
        await world.fleet.wipe("node-1")
        await world.clock.sleep(5)
        assert world.calls["PATCH", "pods"] == before


async def test_a_removed_node_takes_its_object_and_its_lease_and_leaves_its_pods_to_the_cluster() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("left")
        await world.clock.sleep(1)
        await world.fleet.remove_node("node-1")
        with pytest.raises(ObjectNotFound):
            await world.client.get(NODES, "node-1")
        with pytest.raises(ObjectNotFound):
            await world.client.get(LEASES, "node-1", "kube-node-lease")
        assert (await world.status("left"))["phase"] == "Running"
        assert world.fleet.node_names == []


async def test_a_node_can_come_back_under_its_name_with_a_new_uid() -> None:
    async with virtual_nodes() as world:
        first = await world.client.get(NODES, "node-1")
        await world.fleet.remove_node("node-1")
        await world.fleet.add_node("node-1")
        second = await world.client.get(NODES, "node-1")
        assert first.metadata.uid != second.metadata.uid
        await world.create_pod("web")
        await world.clock.sleep(1)
        assert (await world.status("web"))["phase"] == "Running"


async def test_the_end_of_an_earlier_node_of_its_name_seen_late_does_not_stop_a_node() -> None:
    async with virtual_nodes(faults=[Rule(LagEvents(5.0), resource="nodes", watch=True)]) as world:
        await world.fleet.remove_node("node-1")
        await world.fleet.add_node("node-1")
        await world.clock.sleep(60)
        lease = await world.client.get(LEASES, "node-1", "kube-node-lease")
        assert lease.spec.renew_time is not None
        assert (world.clock.now() - lease.spec.renew_time).total_seconds() <= 10


async def test_a_node_deleted_by_others_stops_its_heartbeat_and_does_not_register_again() -> None:
    async with virtual_nodes() as world:
        await world.client.delete(NODES, "node-1")
        await world.clock.sleep(60)
        with pytest.raises(ObjectNotFound):
            await world.client.get(NODES, "node-1")


async def test_a_status_that_could_not_be_written_is_written_later() -> None:
    async with virtual_nodes() as world:
        world.transport.broken = True
        await world.create_pod("web", Script(run_seconds=3), restartPolicy="Never")
        await world.clock.sleep(5)
        assert "containerStatuses" not in await world.status("web")
        world.transport.broken = False
        await world.clock.sleep(1.1)
        assert (await world.status("web"))["phase"] == "Succeeded"


@pytest.mark.slow
async def test_five_hundred_pods_cost_one_write_each_and_an_idle_hour_costs_none() -> None:
    async with virtual_nodes(nodes=10, options=FleetOptions(normal_events=False, renew_seconds=20)) as world:
        for number in range(500):
            await world.create_pod(f"pod-{number}", node=f"node-{number % 10 + 1}")
        await world.clock.sleep(1)
        assert world.calls["PATCH", "pods"] == 500
        before = world.calls.copy()
        await world.clock.sleep(timedelta(hours=1).total_seconds())
        spent = world.calls - before
        assert spent["PATCH", "pods"] == 0
        assert spent["PATCH", "leases"] == 10 * 3600 / 20
        assert spent["POST", "events"] == 0
