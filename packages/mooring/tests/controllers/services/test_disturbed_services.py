"""Services that somebody else scales, deletes or cannot read: what is kept, what is told, and what is never said."""

from typing import Any

import pytest

from drydock.faults import Answer as Reply
from drydock.faults import Rule
from hawser.client import KubeClient
from hawser.resources import DEPLOYMENTS, PODS, SERVICES
from mooring.controllers.services.document import Question
from mooring.controllers.services.snapshot import ANSWER_SECONDS
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditOutcome, Subject
from mooring.model.errors import Unavailable
from mooring.model.names import SERVICE
from mooring.model.service_observations import Answer, Outcome
from packages.mooring.tests.controllers.services.hands import (
    PLACED,
    carry_out,
    change,
    code_of,
    condition,
    create,
    objects,
    on_stage,
    status_of,
    until_code,
    until_serving,
)


async def scale(stage: Stage, replicas: int) -> None:
    body = {"spec": {"replicas": replicas}}
    await stage.client.merge_patch(DEPLOYMENTS, "api", body, NAMESPACE, field_manager="kubectl")


async def test_a_deployment_that_somebody_scales_serves_on_and_the_fix_takes_it_back(stage):
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


async def test_who_scales_a_deployment_does_not_keep_the_next_image_from_it(stage):
    stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    await scale(stage, 2)
    await change(stage, image="api:2")
    await stage.clock.sleep(120)
    status = await status_of(stage)
    assert (status["phase"], status["rollout"]["image"], status["rollout"]["replicas"]) == ("Serving", "api:2", 2)


async def test_a_deployment_that_somebody_scales_to_nothing_fails_with_the_command_that_undoes_it(stage):
    stage.start()
    await create(stage, replicas=2, **PLACED)
    await until_serving(stage)
    await scale(stage, 0)
    status = await until_code(stage, "ReplicasTaken", within=60)
    assert status["phase"] == "Failed" and status["fix"].endswith("--replicas=2")
    await carry_out(stage, status["fix"])
    await until_serving(stage)


async def test_a_service_that_is_not_to_be_exposed_any_more_is_removed_with_a_row_and_as_it_was_seen(
    monkeypatch: pytest.MonkeyPatch,
):
    given: list[dict[str, Any]] = []
    delete = KubeClient.delete

    async def spy(client: KubeClient, resource: Any, name: str, namespace: str | None = None, **options: Any) -> None:
        given.append({"kind": resource.kind, **options})
        await delete(client, resource, name, namespace, **options)

    async with on_stage() as stage:
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


# --- what is never said ----------------------------------------------------------------------------------------------
async def test_without_an_answer_it_is_unknown_and_with_one_again_serving(stage):
    stage.start()
    await create(stage, **PLACED)
    await until_serving(stage)
    stage.documents.answers = lambda _: Answer(Outcome.NO_ANSWER, "no whole answer within 5 s")
    status = await until_code(stage, "NoAnswer", within=60)
    assert status["phase"] == "Unknown" and "api" not in status and status["url"] == ""
    stage.documents.answers = lambda _: None
    await until_serving(stage)


async def test_what_may_not_be_read_is_unknown_on_the_object_and_for_everyone_who_asks(stage):
    hidden = Rule(Reply(403, "Forbidden"), methods=frozenset({"GET"}), path=r"^/apis/apps/v1/deployments")
    replica = stage.start("a", [hidden])
    await create(stage, **PLACED)
    status = await until_code(stage, "Unreadable", within=60)
    assert status["phase"] == "Unknown" and "deployments" in status["reason"]
    (reading,) = replica.mooring.queries.services.services()
    assert reading.status.phase == "Unknown" and reading.why.fix == "mooring doctor"
    assert await objects(stage) == 0


async def test_what_breaks_looking_after_a_service_is_told_in_its_status_and_healed(stage):
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


async def test_an_api_server_that_refuses_for_long_makes_a_service_unknown_and_a_hiccup_does_not(stage):
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


async def test_two_control_planes_do_not_quarrel_over_a_service(stage):
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
