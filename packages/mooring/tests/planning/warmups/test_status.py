"""What a shard says of itself while its pod runs, and when a failure is one."""

import msgspec
import pytest

from mooring.model.warm_job import Refusal
from mooring.model.warmup import WarmupSpec, find_problems
from mooring.planning.warmups.plan import plan_warmup
from packages.mooring.tests.planning.warmups.datasets import dataset, job, nodes, pod, snapshot

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
        ({"container": "", "running": False, "finished": True}, "verifying", "Warming"),
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


@pytest.mark.parametrize(
    ("field", "value", "fix"),
    [
        ("memoryBudget", "abc", "must be a quantity"),
        ("memoryBudget", "0", "must be more than nothing"),
        ("memoryBudget", "-1Gi", "must be more than nothing"),
        ("size", "much", "must be a quantity"),
        ("size", "0", "must be more than nothing"),
        ("shards", 0, "must be between 1 and 1000"),
        ("generation", "", "must be a number or a name"),
        ("propagationSeconds", 10**15, "must be between 0 and 3600"),
        ("localPath", "/", "must be an absolute path below /"),
        ("localPath", "/a:b", "without :, . and .."),
    ],
)
def test_whatever_field_is_wrong_the_status_names_it_with_its_value_and_the_fix(field, value, fix):
    warmup = dataset(**{"size": "9Gi", field: value})
    plan = plan_warmup(snapshot(warmup, nodes(3), problems=find_problems(warmup)))
    assert (plan.releases, plan.creates, plan.status.phase) == ((), (), "Failed")
    for word in (f"spec.{field}", repr(value), fix):
        assert word in plan.status.reason


def test_a_spec_that_became_wrong_costs_nothing_that_is_warm():
    warmup = dataset(shards=1)
    done = job(warmup, 0, FLEET["node-0"])
    spec = msgspec.structs.replace(warmup.spec, memory_budget="abc")
    warmup = msgspec.structs.replace(warmup, spec=spec)
    plan = plan_warmup(snapshot(warmup, FLEET, done, problems=find_problems(warmup)))
    assert (plan.status.phase, plan.status.nodes_ready, plan.releases) == ("Ready", 1, ())
    assert "spec.memoryBudget: 'abc'" in plan.status.reason


def test_a_second_warmup_of_a_dataset_names_the_first_and_does_not_call_its_copies_stale():
    first, fleet = dataset(shards=2), nodes(2)
    jobs = [job(first, number, fleet[f"node-{number}"]) for number in range(2)]
    second = msgspec.structs.replace(first, name="late", uid="other-uid")
    plan = plan_warmup(snapshot(second, fleet, *jobs, problems=find_problems(second, ["nt"])))
    assert (plan.status.phase, plan.status.nodes_ready, plan.releases, plan.creates) == ("Failed", 0, (), ())
    assert "dataset 'nt' is warmed by the Warmup nt already" in plan.status.reason
    assert {shard.state for shard in plan.status.shards} == {"waiting"}


def test_a_generation_may_be_a_number():
    assert msgspec.convert({"generation": 2}, WarmupSpec).generation == 2
    warmup = dataset(shards=1, generation=2)
    (create,) = plan_warmup(snapshot(warmup, FLEET)).creates
    assert create.order.generation == "2"
    same = msgspec.structs.replace(warmup, spec=msgspec.structs.replace(warmup.spec, generation="2"))
    assert plan_warmup(snapshot(same, FLEET, job(warmup, 0, FLEET["node-0"]))).status.phase == "Ready"


def test_a_job_that_is_refused_for_good_fails_its_shard_and_one_that_may_be_made_later_waits():
    warmup, fleet = dataset(shards=2), nodes(2)
    refused = {"warm-nt-00": Refusal("spec.env: no such name", final=True), "warm-nt-01": Refusal("exceeded quota")}
    plan = plan_warmup(snapshot(warmup, fleet, refused=refused))
    assert [(shard.state, shard.why) for shard in plan.status.shards] == [
        ("failed", "spec.env: no such name"),
        ("waiting", "exceeded quota"),
    ]
    assert plan.status.phase == "Failed" and len(plan.creates) == 2, "the cluster may think otherwise later"
    assert plan.status.failure is not None and plan.status.failure.reason == "spec.env: no such name"
    assert plan_warmup(snapshot(warmup, fleet)).status.failure is None


def test_a_roll_whose_first_job_is_refused_stops_there():
    warmup, fleet = dataset(shards=2), nodes(2)
    old = job(warmup, 1, fleet["node-1"])
    newer = msgspec.structs.replace(warmup, spec=msgspec.structs.replace(warmup.spec, generation="2"))
    plan = plan_warmup(snapshot(newer, fleet, old, refused={"warm-nt-00": Refusal("no", final=True)}))
    assert plan.releases == () and plan.status.shards[1].warm == "1"


def test_a_job_without_a_pod_says_why_once_it_is_known():
    warmup = dataset(shards=1)
    waiting = job(warmup, 0, FLEET["node-0"], complete=False)
    plan = plan_warmup(snapshot(warmup, FLEET, waiting))
    assert plan.status.shards[0].why == "its pod is not there yet" and plan.podless == (waiting,)
    told = plan_warmup(snapshot(warmup, FLEET, waiting, hindered={waiting.uid: "no such account"}))
    assert told.status.shards[0].why == "no such account"
    started = plan_warmup(snapshot(warmup, FLEET, waiting, pods={waiting.uid: pod(waiting, running=False)}))
    assert started.podless == ()
