"""Services on a stage: what is applied and when, what an update and a rollback do, and what is never said."""

from typing import Any

import pytest

from mooring.cli.demo import demo_nodes
from mooring.control.serving.document import Question
from mooring.control.serving.reconciler import ANSWER_SECONDS
from mooring.incidents.stage import NAMESPACE, Stage, open_stage
from mooring.kube.client import KubeClient
from mooring.kube.resources import BUDGETS, DEPLOYMENTS, NODES, PODS, SERVICES
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import Unavailable
from mooring.model.names import SERVICE
from mooring.model.serving import Answer, Outcome
from mooring.sandbox.actors.runtime.contract import ContainerRun
from mooring.sandbox.actors.runtime.script import Script
from mooring.sandbox.faults import Answer as Reply
from mooring.sandbox.faults import Rule
from tests.scenarios.harbour import play
from tests.services.hands import carry_out, change, code_of, create, status_of, until_code, until_serving

PLACED = {"placement": {"nodePool": "blast"}}
CRASHING = "api:crashing"


def script(run: ContainerRun) -> Script | None:
    return Script(run_seconds=1.0, exit_code=3, logs=["broken"]) if run.image == CRASHING else None


def on_stage(scenario: Any, seed: int = 1) -> None:
    """With the demo's nodes: two for the system, ten for work, all tainted."""

    async def main() -> None:
        async with open_stage(seed, demo_nodes(), script) as stage:
            await scenario(stage)

    play(main, seed)


def condition(status: dict[str, Any], type_: str) -> str:
    return str(next(one["status"] for one in status["conditions"] if one["type"] == type_))


async def objects(stage: Stage) -> int:
    kinds = (DEPLOYMENTS, SERVICES, BUDGETS)
    return sum([len((await stage.client.list(kind, NAMESPACE)).items) for kind in kinds])


# --- before anything is applied --------------------------------------------------------------------------------------
def test_a_service_that_no_node_takes_is_refused_before_anything_is_applied():
    async def scenario(stage: Stage) -> None:
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
        assert all(call.path.endswith("/managedservices/api/status") for call in writes)
        assert replica.mooring.reading.invariant("schedulable").state == "broken"
        await carry_out(stage, status["fix"])
        served = await until_serving(stage, within=30)
        assert served["url"] == "http://api.runners.svc:8080"
        assert replica.mooring.reading.invariant("schedulable").state == "holds"

    on_stage(scenario)


def test_a_node_that_comes_later_is_enough():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage)
        await until_code(stage, "Unschedulable")
        await stage.client.merge_patch(NODES, "work-03", {"spec": {"taints": None}})
        await until_serving(stage, within=30)

    on_stage(scenario)


def test_an_update_that_no_node_takes_leaves_the_version_before_alone():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)
        before = {pod.metadata.uid for pod in await stage.pods()}
        await change(stage, image="api:2", placement={"nodePool": None, "nodeSelector": {"workload": "nothing"}})
        status = await until_code(stage, "Unschedulable")
        await stage.clock.sleep(60)
        assert {pod.metadata.uid for pod in await stage.pods()} == before
        assert condition(status, "Available") == "True"

    on_stage(scenario)


def test_a_wrong_spec_is_told_and_nothing_is_applied():
    async def scenario(stage: Stage) -> None:
        stage.start()
        twice = [{"name": "MODE", "value": "a"}, {"name": "MODE", "value": "b"}]
        await create(stage, env=twice, **PLACED)
        status = await until_code(stage, "InvalidSpec")
        assert "spec.env[1].name" in status["reason"] and await objects(stage) == 0

    on_stage(scenario)


# --- what is applied -------------------------------------------------------------------------------------------------
def test_a_single_replica_never_blocks_a_drain():
    async def scenario(stage: Stage) -> None:
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

    on_stage(scenario)


def test_of_two_replicas_one_stays():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, replicas=2, **PLACED)
        await until_serving(stage)
        await stage.clock.sleep(5)
        assert (await stage.client.get(BUDGETS, "api", NAMESPACE)).status.desired_healthy == 1

    on_stage(scenario)


def test_a_settled_service_writes_nothing():
    async def scenario(stage: Stage) -> None:
        replica = stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)
        await stage.clock.sleep(30)
        calls, asked = len(replica.process.calls), len(stage.documents.asked)
        await stage.clock.sleep(300)
        later = [call for call in replica.process.calls[calls:] if call.method != "GET"]
        assert later == []
        assert 5 <= len(stage.documents.asked) - asked <= 15  # the document is read again, now and then

    on_stage(scenario)


def test_objects_of_somebody_else_are_left_alone():
    async def scenario(stage: Stage) -> None:
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

    on_stage(scenario)


def test_what_was_deleted_comes_back_and_what_was_given_up_goes():
    async def scenario(stage: Stage) -> None:
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

    on_stage(scenario)


def test_scaled_to_zero_is_absent():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)
        await change(stage, replicas=0)
        status = await until_code(stage, "ScaledToZero")
        assert status["phase"] == "Absent" and "api" not in status
        await carry_out(stage, status["fix"])
        await until_serving(stage)

    on_stage(scenario)


# --- updates ---------------------------------------------------------------------------------------------------------
def test_while_an_update_rolls_the_service_is_not_called_serving():
    async def scenario(stage: Stage) -> None:
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

    on_stage(scenario)


def test_a_bad_image_is_told_and_stays_when_no_rollback_was_asked_for():
    async def scenario(stage: Stage) -> None:
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

    on_stage(scenario)


def test_a_bad_image_goes_back_to_the_last_serving_one_when_asked():
    async def scenario(stage: Stage) -> None:
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

    on_stage(scenario)


def test_a_control_plane_that_dies_in_mid_rollback_is_followed_by_one_that_finishes_it():
    async def scenario(stage: Stage) -> None:
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

    on_stage(scenario)


# --- what others do to its objects -----------------------------------------------------------------------------------
async def scale(stage: Stage, replicas: int) -> None:
    body = {"spec": {"replicas": replicas}}
    await stage.client.merge_patch(DEPLOYMENTS, "api", body, NAMESPACE, field_manager="kubectl")


def test_a_deployment_that_somebody_scales_serves_on_and_the_fix_takes_it_back():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)
        await scale(stage, 3)
        await stage.clock.sleep(120)
        status = await status_of(stage)
        assert (status["phase"], code_of(status)) == ("Serving", "Serving") and status["url"]
        assert condition(status, "ReplicasOwned") == "False" and "kubectl" in status["reason"]
        assert status["fix"] == f"kubectl -n {NAMESPACE} scale deployment api --replicas=1"
        await carry_out(stage, status["fix"])
        await stage.clock.sleep(120)
        status = await status_of(stage)
        assert (status["phase"], status["fix"]) == ("Serving", "") and len(await stage.pods()) == 1
        assert not any(one["type"] == "ReplicasOwned" for one in status["conditions"])

    on_stage(scenario)


def test_who_scales_a_deployment_does_not_keep_the_next_image_from_it():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)
        await scale(stage, 2)
        await change(stage, image="api:2")
        await stage.clock.sleep(120)
        status = await status_of(stage)
        assert (status["phase"], status["rollout"]["image"], status["rollout"]["replicas"]) == ("Serving", "api:2", 2)

    on_stage(scenario)


def test_a_deployment_that_somebody_scales_to_nothing_fails_with_the_command_that_undoes_it():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, replicas=2, **PLACED)
        await until_serving(stage)
        await scale(stage, 0)
        status = await until_code(stage, "ReplicasTaken", within=60)
        assert status["phase"] == "Failed" and status["fix"].endswith("--replicas=2")
        await carry_out(stage, status["fix"])
        await until_serving(stage)

    on_stage(scenario)


def test_a_service_that_is_not_to_be_exposed_any_more_is_removed_with_a_row_and_as_it_was_seen(
    monkeypatch: pytest.MonkeyPatch,
):
    given: list[dict[str, Any]] = []
    delete = KubeClient.delete

    async def spy(client: KubeClient, resource: Any, name: str, namespace: str | None = None, **options: Any) -> None:
        given.append({"kind": resource.kind, **options})
        await delete(client, resource, name, namespace, **options)

    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)
        port = await stage.client.get(SERVICES, "api", NAMESPACE)
        monkeypatch.setattr(KubeClient, "delete", spy)
        await change(stage, expose="None")
        await stage.clock.sleep(20)
        assert (await stage.client.list(SERVICES, NAMESPACE)).items == []
        (row,) = (await stage.ledger.audit.list(AuditFilter())).items
        assert (row.entry.actor, row.entry.action, row.outcome) == (
            f"service/{NAMESPACE}/api",
            "delete",
            AuditOutcome.DONE,
        )
        assert row.entry.subject == Subject("Service", NAMESPACE, "api", port.metadata.uid)
        (asked,) = [one for one in given if one["kind"] == "Service"]
        assert (asked["uid"], asked["resource_version"]) == (port.metadata.uid, port.metadata.resource_version)
        assert code_of(await status_of(stage)) == "Serving"

    on_stage(scenario)


# --- what is never said ----------------------------------------------------------------------------------------------
def test_without_an_answer_it_is_unknown_and_with_one_again_serving():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)
        stage.documents.answers = lambda _: Answer(Outcome.NO_ANSWER, "no whole answer within 5 s")
        status = await until_code(stage, "NoAnswer", within=60)
        assert status["phase"] == "Unknown" and "api" not in status and status["url"] == ""
        stage.documents.answers = lambda _: None
        await until_serving(stage)

    on_stage(scenario)


def test_what_may_not_be_read_is_unknown_on_the_object_and_for_everyone_who_asks():
    async def scenario(stage: Stage) -> None:
        hidden = Rule(Reply(403, "Forbidden"), methods=frozenset({"GET"}), path=r"^/apis/apps/v1/deployments")
        replica = stage.start("a", [hidden])
        await create(stage, **PLACED)
        status = await until_code(stage, "Unreadable", within=60)
        assert status["phase"] == "Unknown" and "deployments" in status["reason"]
        (reading,) = replica.mooring.services.reading.services()
        assert reading.status.phase == "Unknown" and reading.why.fix == "mooring doctor"
        assert await objects(stage) == 0

    on_stage(scenario)


def test_what_breaks_looking_after_a_service_is_told_in_its_status_and_healed():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await create(stage, "other", **PLACED)
        await until_serving(stage)
        await until_serving(stage, name="other")
        broken = {pod.status.pod_ip for pod in await stage.pods() if pod.metadata.labels[SERVICE] == "api"}

        def stumble(question: Question) -> Answer | None:
            if question.address in broken:
                raise TypeError("unhashable type: 'list'")
            return None

        stage.documents.answers = stumble
        status = await until_code(stage, "ReconcileFailed", within=60)
        assert status["phase"] == "Unknown" and "TypeError: unhashable type: 'list'" in status["reason"]
        assert status["fix"] and "api" not in status and status["url"] == ""
        assert condition(status, "RolledOut") == "True"  # was seen, and is not in doubt
        assert code_of(await status_of(stage, "other")) == "Serving"
        stage.documents.answers = lambda _: None
        await until_serving(stage, within=60)

    on_stage(scenario)


def test_an_api_server_that_refuses_for_long_makes_a_service_unknown_and_a_hiccup_does_not():
    async def scenario(stage: Stage) -> None:
        stage.start()
        await create(stage, **PLACED)
        await until_serving(stage)

        def refuse(_: Question) -> Answer | None:
            raise Unavailable("the API server is away")

        stage.documents.answers = refuse
        await stage.clock.sleep(ANSWER_SECONDS + 10)
        first = await status_of(stage)
        status = await until_code(stage, "ReconcileFailed", within=60)
        assert first["phase"] == "Serving"
        assert status["phase"] == "Unknown" and "the API server is away" in status["reason"]

    on_stage(scenario)


def test_two_control_planes_do_not_quarrel_over_a_service():
    async def scenario(stage: Stage) -> None:
        replicas = [stage.start("a"), stage.start("b")]
        await create(stage, **PLACED)
        await until_serving(stage)
        await stage.clock.sleep(60)
        writers = {
            index
            for index, replica in enumerate(replicas)
            if any(call.method == "PATCH" and "/deployments/" in call.path for call in replica.process.calls)
        }
        assert len(writers) == 1
        assert [len((await stage.client.list(PODS, NAMESPACE)).items), await objects(stage)] == [1, 3]

    on_stage(scenario)
