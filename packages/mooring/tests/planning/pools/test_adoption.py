"""Which pods a pool adopts: running ones that nobody manages, up to max, each answer with its reason."""

import msgspec
import pytest

from mooring.model.pool import PoolStatus
from mooring.planning.pools.adoption import FoundPod, PodAction, plan_adoption
from mooring.planning.pools.plan import plan_pool
from packages.mooring.tests.planning import fleets
from packages.mooring.tests.planning.fleets import NOW, pool, worker

MINE = pool(max=3).uid


def decide(*pods, idle=False, workers=(), most=3):
    steps = plan_adoption(pool(max=most), pods, workers, idle=idle)
    return {step.pod.name: (step.action, step.why) for step in steps}


def pod(name="old", phase="Running", **changes):
    return FoundPod(name, f"uid-{name}", phase, **changes)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"terminating": True}, "being deleted"),
        ({"manager": "ReplicaSet web"}, "ReplicaSet web manages it"),
        ({"manager": "the kubelet"}, "the kubelet manages it"),
        ({"phase": "Pending"}, "Pending, not Running"),
        ({"phase": "Succeeded"}, "not Running"),
        ({"phase": ""}, "unknown"),
        ({"pool_uid": MINE}, "already"),
        ({"pool_uid": MINE, "unproven": True}, "already"),
        ({"name": "x" * 64}, "longer than 63"),
    ],
)
def test_a_pod_that_is_not_free_to_take_is_skipped_with_the_reason(changes, word):
    ((action, why),) = decide(pod(**changes)).values()
    assert action is PodAction.SKIP and word in why


def test_a_free_pod_is_adopted_as_busy_unless_the_operator_says_that_it_is_idle():
    assert decide(pod())["old"] == (PodAction.ADOPT, "it counts as busy until it is proven to be idle")
    assert decide(pod(), idle=True)["old"] == (PodAction.ADOPT, "it counts as idle, as the operator says")
    assert decide(pod(pool_uid=MINE, unproven=True), idle=True)["old"][0] is PodAction.PROVE_IDLE


def test_max_counts_workers_that_are_there():
    found = decide(pod("a"), pod("b"), pod("c"), workers={"one"}, most=2)
    assert [action for action, _ in found.values()] == [PodAction.ADOPT, PodAction.SKIP, PodAction.SKIP]


@pytest.mark.parametrize("draining", [False, True])
def test_an_unproven_worker_is_neither_idle_nor_retired_also_on_a_draining_node(draining):
    at = fleets.node(unschedulable=draining)
    kept = worker(0, name="old", node=at.name, unproven_since=NOW)
    plan = plan_pool(fleets.snapshot(pool(warm=0, max=3, idleSeconds=0), kept, nodes={at.name: at}))
    assert plan.retires == () and plan.status.idle == 0


def test_the_fix_of_a_full_pool_leaves_room_for_what_the_pool_makes_itself():
    full = msgspec.structs.replace(pool(warm=2, max=2), status=PoolStatus(idle=1, queued=3))
    steps = plan_adoption(full, (pod("a"), pod("b")), {"one", "two"}, idle=False)
    patch = """kubectl -n runners patch workerpool linux --type merge -p '{"spec": {"max": 8}}'"""
    assert {step.fix for step in steps} == {patch}
