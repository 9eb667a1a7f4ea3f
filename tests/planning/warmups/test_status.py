"""What a shard says of itself while its pod runs, and when a failure is one."""

import pytest

from mooring.planning.warmups.plan import plan_warmup
from tests.planning.warmups.datasets import dataset, job, nodes, pod, snapshot

FLEET = nodes(1)


@pytest.mark.parametrize(
    ("changes", "state", "phase"),
    [
        ({"container": "", "running": False, "waiting": "0/3 nodes are available"}, "waiting", "Warming"),
        ({"container": "fetch", "running": False}, "waiting", "Warming"),
        ({"container": "fetch"}, "fetching", "Warming"),
        ({"container": "fetch", "running": False, "restarts": 4}, "fetching", "Warming"),
        ({"container": "verify"}, "verifying", "Warming"),
        ({"container": "warm"}, "verifying", "Warming"),
        ({"container": "fetch", "running": False, "restarts": 5, "failing": "fetch"}, "failed", "Failed"),
    ],
)
def test_a_shard_follows_its_pod(changes, state, phase):
    warmup = dataset(shards=1)
    running = job(warmup, 0, FLEET["node-0"], complete=False)
    plan = plan_warmup(snapshot(warmup, FLEET, running, pods={running.uid: pod(running, **changes)}))
    assert (plan.status.shards[0].state, plan.status.phase) == (state, phase)
    assert bool(plan.failing) is (state == "failed")
    assert bool(plan.fetching) is (state == "fetching")


def test_stale_dominates_failed():
    warmup, fleet = dataset(shards=2), nodes(2)
    broken = job(warmup, 0, fleet["node-0"], complete=False)
    lost = job(warmup, 1, nodes(1, "gone")["gone-0"])
    pods = {broken.uid: pod(broken, restarts=5, failing="fetch")}
    assert plan_warmup(snapshot(warmup, fleet, broken, lost, pods=pods)).status.phase == "Stale"


def test_progress_is_shown_while_it_fetches():
    warmup = dataset(shards=1)
    running = job(warmup, 0, FLEET["node-0"], complete=False)
    plan = plan_warmup(snapshot(warmup, FLEET, running, pods={running.uid: pod(running)}, progress={running.uid: 0.42}))
    assert plan.status.shards[0].progress == 0.42


def test_a_wrong_spec_is_told_and_nothing_is_done():
    warmup = dataset(shards=1)
    lost = job(warmup, 0, nodes(1, "gone")["gone-0"])
    plan = plan_warmup(snapshot(warmup, FLEET, lost, problems=("spec.shards: 0 is not allowed",)))
    assert (plan.releases, plan.creates) == ((), ())
    assert plan.status.reason == "spec.shards: 0 is not allowed"
    assert plan.status.conditions[0].status == "False"
