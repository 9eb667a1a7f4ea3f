"""Which Jobs are released: by the node's uid, by generation, order and failure; never anybody else's on a live node."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from mooring.model.warmup import Circuit, Rewarm, WarmupStatus
from mooring.planning.warmups.plan import plan_warmup
from packages.mooring.tests.planning.warmups.datasets import (
    NOW,
    Cluster,
    created,
    dataset,
    job,
    nodes,
    pod,
    released,
    snapshot,
)

FLEET = nodes(3)
FIRST = FLEET["node-0"]
GONE = nodes(1, "gone")["gone-0"]


def test_a_settled_dataset_asks_for_nothing():
    warmup = dataset()
    jobs = [job(warmup, number, FLEET[f"node-{number}"]) for number in range(3)]
    plan = plan_warmup(snapshot(warmup, FLEET, *jobs))
    assert (plan.releases, plan.creates, plan.status.phase) == ((), (), "Ready")


@pytest.mark.parametrize(
    ("changes", "staleness"),
    [
        ({"node": "gone-0", "node_uid": "gone-0-uid"}, "node_gone"),
        ({"node_uid": "the-uid-before"}, "node_replaced"),
        ({"generation": "0"}, "generation_old"),
        ({"spec_hash": "older"}, "order_old"),
        ({"round": "another"}, "rewarm"),
        ({"complete": False, "failed": True, "failure": "DeadlineExceeded"}, "failed"),
        ({"owner_uid": "", "spec_hash": "", "generation": "", "node_uid": ""}, "generation_old"),
        ({"owner_uid": "a-warmup-that-was-deleted"}, "order_old"),
    ],
)
def test_a_stale_job_is_released_for_its_reason(changes, staleness):
    warmup = dataset()
    others = [job(warmup, number, FLEET[f"node-{number}"]) for number in (1, 2)]
    plan = plan_warmup(snapshot(warmup, FLEET, replace(job(warmup, 0, FIRST), **changes), *others))
    assert released(plan) == {"warm-nt-00": staleness}
    assert plan.kept == ("warm-nt-01", "warm-nt-02")
    assert plan.status.phase == ("Failed" if staleness == "failed" else "Stale")
    assert created(plan) == {}, "the name is free only when the Job is gone"


def test_a_job_in_deletion_does_not_count_and_is_waited_for():
    warmup = dataset(shards=1)
    plan = plan_warmup(snapshot(warmup, FLEET, job(warmup, 0, FIRST, deleting=True)))
    assert (released(plan), created(plan)) == ({}, {})
    assert plan.status.nodes_ready == 0
    assert created(plan_warmup(snapshot(warmup, FLEET)))


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"node": ""}, "skipped"),
        ({"node": "node-1", "node_uid": ""}, "kept"),
        ({"node": "gone-0", "node_uid": ""}, "node_gone"),
        ({"node": "node-1", "node_uid": "older"}, "node_replaced"),
        ({"node": "", "node_uid": "", "hostname": "node-1"}, "kept"),
        ({"node": "", "node_uid": "", "hostname": "ip-10-0-0-7"}, "kept"),
        ({"node": "", "node_uid": "", "hostname": "node-2"}, "node_gone"),  # the name of a node, but not its label
        ({"node": "", "node_uid": "", "hostname": "ip-10-0-0-8"}, "node_gone"),
    ],
)
def test_jobs_of_other_tools_are_healed_only_when_their_node_is_gone(changes, outcome):
    warmup = dataset()
    jobs = [job(warmup, number, FLEET[f"node-{number}"]) for number in range(3)]
    foreign = job(warmup, 7, FIRST, name="cache-7", owner_uid="", spec_hash="", generation="", **changes)
    labelled = replace(FLEET["node-2"], labels={"kubernetes.io/hostname": "ip-10-0-0-7"})
    plan = plan_warmup(snapshot(warmup, {**FLEET, "node-2": labelled}, *jobs, foreign))
    assert released(plan).get("cache-7", "kept" if "cache-7" in plan.kept else "skipped") == outcome
    assert plan.status.phase == "Ready"


def test_without_a_uid_a_job_that_ended_before_its_node_was_made_is_stale():
    young = {"node-0": replace(FIRST, created_at=NOW)}
    warmup = dataset(shards=1)
    old = job(warmup, 0, FIRST, owner_uid="", node_uid="", finished_at=NOW - timedelta(hours=1))
    assert released(plan_warmup(snapshot(warmup, young, old))) == {"warm-nt-00": "node_replaced"}


def test_an_unpinned_job_of_others_on_our_name_is_told_and_left_alone():
    warmup = dataset(shards=1)
    plan = plan_warmup(snapshot(warmup, FLEET, job(warmup, 0, FIRST, owner_uid="", node="")))
    assert (released(plan), created(plan)) == ({}, {})
    assert "delete or rename it" in plan.status.shards[0].why


def test_one_rotated_node_of_ten_rewarms_exactly_one_shard():
    cluster = Cluster(dataset(shards=10), nodes(10))
    cluster.settle()
    del cluster.nodes["node-4"]
    cluster.nodes |= nodes(1, "fresh")
    assert cluster.step().status.phase == "Stale"
    status = cluster.settle()
    assert (status.phase, status.nodes_ready) == ("Ready", 10)
    assert [(create.shard, create.node.name) for create in cluster.made[10:]] == [(4, "fresh-0")]


def test_nodes_that_return_under_their_names_with_new_uids_are_all_warmed_again():
    cluster = Cluster(dataset(shards=10), nodes(12))
    cluster.settle()
    cluster.nodes = {name: replace(node, uid=f"{node.uid}-again") for name, node in cluster.nodes.items()}
    status = cluster.settle()
    assert status.phase == "Ready" and len(cluster.made) == 20
    assert all(shard.node_uid.endswith("-again") for shard in status.shards)


@pytest.mark.parametrize("change", [{"generation": "2"}, {"image": "fetcher:2"}])
def test_a_new_order_rolls_shard_by_shard_and_never_below_the_old_availability(change):
    cluster = Cluster(dataset(shards=5), nodes(5))
    cluster.settle()
    cluster.least_warm = None
    cluster.change(**change)
    in_work = 0
    while cluster.made[5:] == [] or cluster.plan().status.phase != "Ready":
        cluster.step()
        in_work = max(in_work, sum(not one.finished for one in cluster.jobs.values()))
        assert len(cluster.jobs) >= 4
    assert (cluster.least_warm, in_work, len(cluster.made)) == (5, 1, 10)
    assert [(create.shard, create.node.name) for create in cluster.made[5:]] == [(n, f"node-{n}") for n in range(5)]


def test_a_generation_that_fails_stops_the_roll_at_its_first_shard():
    cluster = Cluster(dataset(shards=3), nodes(3))
    cluster.settle()
    cluster.change(generation="2")
    cluster.step()
    cluster.step()
    broken = cluster.jobs["warm-nt-00"]
    stuck = plan_warmup(
        snapshot(
            cluster.warmup,
            cluster.nodes,
            *cluster.jobs.values(),
            pods={broken.uid: pod(broken, restarts=9, failing="fetch")},
        )
    )
    assert not broken.complete and stuck.releases == ()
    assert stuck.status.nodes_ready == 3


def test_a_forced_rewarm_fires_once_when_there_are_nodes():
    warmup = msgspec.structs.replace(dataset(shards=2), rewarm_request="r1")
    waiting = plan_warmup(snapshot(warmup, {}))
    assert waiting.status.rewarm == Rewarm(pending="r1")
    fired = plan_warmup(snapshot(msgspec.structs.replace(warmup, status=waiting.status), nodes(2)))
    assert fired.status.rewarm == Rewarm("r1", NOW)
    later = NOW + timedelta(hours=5)
    again = plan_warmup(snapshot(msgspec.structs.replace(warmup, status=fired.status), nodes(2), now=later))
    assert again.status.rewarm == Rewarm("r1", NOW)


def test_a_forced_rewarm_fetches_every_shard_again_exactly_once():
    cluster = Cluster(dataset(shards=4), nodes(4))
    cluster.settle()
    cluster.warmup = msgspec.structs.replace(cluster.warmup, rewarm_request="r1")
    cluster.step()
    cluster.change(attempts=3)
    status = cluster.settle()
    assert status.phase == "Ready" and sorted(create.shard for create in cluster.made[4:]) == [0, 1, 2, 3]
    assert cluster.least_warm == 0 and {create.order.round for create in cluster.made[4:]} == {"r1"}


def test_permissions_get_their_time_after_creation_and_after_a_change_of_access():
    new = msgspec.structs.replace(dataset(shards=1), created_at=NOW - timedelta(seconds=59))
    plan = plan_warmup(snapshot(new, FLEET))
    assert created(plan) == {} and plan.wake_at == NOW + timedelta(seconds=1)
    cluster = Cluster(dataset(shards=1), FLEET)
    cluster.settle()
    cluster.change(env=({"name": "TOKEN", "value": "x"},))
    cluster.step()
    changed_at = cluster.now
    for _ in range(100):
        cluster.step()
    made = cluster.warmup.status.access
    assert made is not None and made.since is not None
    assert (made.since - changed_at).total_seconds() < 1
    assert len(cluster.made) == 2


def test_an_open_circuit_keeps_failed_jobs_and_makes_none():
    warmup = dataset(shards=2)
    opened = Circuit("open", (), None, NOW + timedelta(minutes=10))
    warmup = msgspec.structs.replace(warmup, status=WarmupStatus(circuit=opened))
    plan = plan_warmup(snapshot(warmup, FLEET, job(warmup, 0, FIRST, complete=False, failed=True)))
    assert (released(plan), created(plan)) == ({}, {})
    assert plan.status.phase == "Failed" and plan.wake_at == NOW + timedelta(minutes=10)
    assert "the circuit is open until 12:10:00Z" in plan.status.reason
