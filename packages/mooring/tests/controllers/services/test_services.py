"""Services on a stage: what is applied and when, what an update and a rollback do, and what is never said."""

from hawser.resources import BUDGETS, DEPLOYMENTS, NODES, SERVICES
from mooring.incidents.stage import NAMESPACE
from packages.mooring.tests.controllers.services.hands import (
    CRASHING,
    PLACED,
    carry_out,
    change,
    code_of,
    condition,
    create,
    objects,
    status_of,
    until_code,
    until_serving,
)


# --- before anything is applied --------------------------------------------------------------------------------------
async def test_a_service_that_no_node_takes_is_refused_before_anything_is_applied(stage):
    replica = stage.start()
    await create(stage)
    status = await until_code(stage, "Unschedulable", within=5)
    assert status["phase"] == "Failed"
    assert status["reason"].startswith("0 of 12 nodes fit: ")
    assert "10 node(s) had untolerated taint(s) {workload: blast}" in status["reason"]
    assert "2 node(s) had untolerated taint(s) {CriticalAddonsOnly: true}" in status["reason"]
    await stage.clock.sleep(120)
    assert await objects(stage) == 0 and await stage.pods() == []
    writes = [call for call in replica.process.calls if call.method in ("POST", "PATCH", "PUT")]
    assert all(call.path.endswith(("/managedservices/api/status", "/events")) for call in writes)
    assert replica.mooring.queries.fleet.invariant("schedulable").state == "broken"
    await carry_out(stage, status["fix"])
    served = await until_serving(stage, within=30)
    assert served["url"] == "http://api.runners.svc:8080"
    assert replica.mooring.queries.fleet.invariant("schedulable").state == "holds"


async def test_a_node_that_comes_later_is_enough(stage):
    stage.start()
    await create(stage)
    await until_code(stage, "Unschedulable")
    await stage.client.merge_patch(NODES, "work-03", {"spec": {"taints": None}})
    await until_serving(stage, within=30)


async def test_an_update_that_no_node_takes_leaves_the_version_before_alone(stage):
    stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    before = {pod.metadata.uid for pod in await stage.pods()}
    await change(stage, image="api:2", placement={"nodePool": None, "nodeSelector": {"workload": "nothing"}})
    status = await until_code(stage, "Unschedulable")
    await stage.clock.sleep(60)
    assert {pod.metadata.uid for pod in await stage.pods()} == before
    assert condition(status, "Available") == "True"


async def test_a_wrong_spec_is_told_and_nothing_is_applied(stage):
    stage.start()
    twice = [{"name": "MODE", "value": "a"}, {"name": "MODE", "value": "b"}]
    await create(stage, env=twice, **PLACED)
    status = await until_code(stage, "InvalidSpec")
    assert "spec.env[1].name" in status["reason"] and await objects(stage) == 0


# --- what is applied -------------------------------------------------------------------------------------------------
async def test_a_single_replica_never_blocks_a_drain(stage):
    stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    (pod,) = await stage.pods()

    async def may_go() -> bool:
        budget = await stage.client.get(BUDGETS, "api", NAMESPACE)
        return budget.status.disruptions_allowed == 1

    await stage.until(may_go, 30, "the budget lets one pod go")
    await stage.client.evict(pod.metadata.name, NAMESPACE, uid=pod.metadata.uid)
    await until_code(stage, "RollingOut", within=10)
    await until_serving(stage)


async def test_of_two_replicas_one_stays(stage):
    stage.start()
    await create(stage, replicas=2, **PLACED)
    await until_serving(stage)
    await stage.clock.sleep(5)
    assert (await stage.client.get(BUDGETS, "api", NAMESPACE)).status.desired_healthy == 1


async def test_a_settled_service_writes_nothing(stage):
    replica = stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    await stage.clock.sleep(30)
    calls, asked = len(replica.process.calls), len(stage.documents.asked)
    await stage.clock.sleep(300)
    later = [call for call in replica.process.calls[calls:] if call.method != "GET"]
    assert later == []
    assert 5 <= len(stage.documents.asked) - asked <= 15  # the document is read again, now and then


async def test_objects_of_somebody_else_are_left_alone(stage):
    pod = {"containers": [{"name": "main", "image": "theirs"}]}
    labels = {"app": "theirs"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    body = {"metadata": {"name": "api"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    theirs = await stage.client.create(DEPLOYMENTS, body, NAMESPACE)
    stage.start()
    await create(stage, **PLACED)
    status = await until_code(stage, "NameTaken")
    assert status["phase"] == "Failed" and "does not belong" in status["reason"]
    found = await stage.client.get(DEPLOYMENTS, "api", NAMESPACE)
    assert (found.metadata.uid, found.spec) == (theirs.metadata.uid, theirs.spec)


async def test_what_was_deleted_comes_back_and_what_was_given_up_goes(stage):
    stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    await stage.client.delete(SERVICES, "api", NAMESPACE)
    await stage.clock.sleep(10)
    assert (await stage.client.get(SERVICES, "api", NAMESPACE)).spec.type == "ClusterIP"
    await change(stage, expose="None")
    await stage.clock.sleep(10)
    assert (await stage.client.list(SERVICES, NAMESPACE)).items == []
    await until_serving(stage)


async def test_scaled_to_zero_is_absent(stage):
    stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    await change(stage, replicas=0)
    status = await until_code(stage, "ScaledToZero")
    assert status["phase"] == "Absent" and "api" not in status
    await carry_out(stage, status["fix"])
    await until_serving(stage)


# --- updates ---------------------------------------------------------------------------------------------------------
async def test_while_an_update_rolls_the_service_is_not_called_serving(stage):
    stage.start()
    await create(stage, replicas=2, **PLACED)
    await until_serving(stage)
    await change(stage, image="api:2")
    seen = set()
    while (status := await status_of(stage))["rollout"]["lastServing"] != "api:2":
        if status["observedGeneration"] == 2:
            seen.add(status["phase"])
        await stage.clock.sleep(0.1)
    assert "Starting" in seen and "Serving" not in seen
    images = {pod.spec.containers[0].image for pod in await stage.pods() if not pod.terminating}
    assert images == {"api:2"}


async def test_a_bad_image_is_told_and_stays_when_no_rollback_was_asked_for(stage):
    stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    await change(stage, image="missing.example.invalid/api:9")
    status = await until_code(stage, "ImageNotFound")
    assert condition(status, "Available") == "True"  # the version before still answers
    assert '"image": "api:1"' in status["fix"]
    await stage.clock.sleep(300)
    assert code_of(await status_of(stage)) == "ImageNotFound"
    await carry_out(stage, status["fix"])
    await until_serving(stage)


async def test_a_bad_image_goes_back_to_the_last_serving_one_when_asked(stage):
    stage.start()
    await create(stage, rollback="LastServing", **PLACED)
    await until_serving(stage)
    await change(stage, image=CRASHING)
    await until_code(stage, "CrashLooping")
    status = await until_code(stage, "RolledBack", within=120)
    assert status["phase"] == "Serving" and status["rollout"]["image"] == "api:1"
    assert status["rollout"]["rolledBackFrom"] == CRASHING and CRASHING in status["reason"]
    await stage.clock.sleep(600)
    assert code_of(await status_of(stage)) == "RolledBack"  # not tried again by itself
    await change(stage, image="api:2")
    served = await until_serving(stage)
    assert served["rollout"]["rolledBackFrom"] == "" and served["rollout"]["lastServing"] == "api:2"


async def test_a_control_plane_that_dies_in_mid_rollback_is_followed_by_one_that_finishes_it(stage):
    first = stage.start("a")
    await create(stage, rollback="LastServing", **PLACED)
    await until_serving(stage)
    await change(stage, image=CRASHING)

    async def given_up() -> bool:
        return bool((await status_of(stage))["rollout"]["rolledBackFrom"])

    await stage.until(given_up, 200, "the image is given up")
    await first.kill()
    stage.start("b")
    await until_code(stage, "RolledBack", within=120)
