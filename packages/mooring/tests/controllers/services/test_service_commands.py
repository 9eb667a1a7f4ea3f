"""Orders of services on a stage: previewed without a write, applied to the letter, audited, deleted completely."""

import asyncio
from typing import Any

import pytest

from drydock.faults import Answer, Delay, LoseAnswer, Rule
from hawser.resources import BUDGETS, DEPLOYMENTS, SERVICES
from mooring.controllers.services.commands import ServiceCommands
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kinds.resources import MANAGEDSERVICES
from mooring.ledger.faults import Fault, LedgerCall
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditEntry, AuditOutcome
from mooring.model.errors import Conflict, InvalidInput, NotFound, Unavailable
from mooring.model.service_order import ServiceOrder, read_order
from packages.mooring.tests.controllers.services.hands import objects, on_stage, until_code, until_serving
from packages.testing.lanes import fast_first

ME = {"actor": "cli/me", "reason": "a new version"}
PLACED = {"placement": {"nodePool": "blast"}}


def order(**spec: Any) -> ServiceOrder:
    return read_order(NAMESPACE, "api", {"image": "api:1", "port": 8080, **spec})


def with_metadata(metadata: dict[str, Any], **spec: Any) -> ServiceOrder:
    whole = {"metadata": metadata, "spec": {"image": "api:1", "port": 8080, **PLACED, **spec}}
    return read_order(NAMESPACE, "api", whole)


async def start(stage: Stage, *rules: Rule) -> ServiceCommands:
    replica = stage.start("a", rules)
    await replica.mooring.wait_synced()
    await stage.clock.sleep(5)
    return replica.mooring.services.commands


async def spec_of(stage: Stage) -> dict[str, Any]:
    return dict((await stage.client.get(MANAGEDSERVICES.raw(), "api", NAMESPACE))["spec"])


async def rows(stage: Stage) -> list[AuditEntry]:
    listed = await stage.ledger.audit.list(AuditFilter(name="api"))
    return [record.entry for record in listed.items if record.entry.actor == ME["actor"]]


async def test_a_preview_writes_nothing_and_its_fix_makes_the_order_fit(stage):
    commands = await start(stage)
    seen = (await commands.preview(order())).change
    assert (seen.action, seen.new_pods, seen.preflight.ok) == ("create", True, False)
    assert seen.preflight.code == "Unschedulable" and "0 of 12 nodes fit" in seen.preflight.message
    assert seen.preflight.fix == 'set in the spec: {"placement": {"nodePool": "blast"}}'
    fixed = (await commands.preview(order(**PLACED))).change
    assert fixed.preflight.ok and "image: none -> api:1" in fixed.changes
    assert (await stage.client.list(MANAGEDSERVICES, NAMESPACE)).items == [] and await rows(stage) == []


async def test_an_order_is_created_serves_and_changes_nothing_when_it_is_sent_again(stage):
    commands = await start(stage)
    made = await commands.apply(with_metadata({"labels": {"team": "a"}}), **ME)
    assert made.change.action == "create" and made.service.uid
    await until_serving(stage)
    again = await commands.apply(with_metadata({"labels": {"team": "a"}}), **ME)
    assert again.change.action == "unchanged" and again.service.generation == made.service.generation
    (row,) = await rows(stage)
    assert (row.action, row.reason, row.subject.kind) == ("create", "a new version", "ManagedService")
    found = await stage.client.get(MANAGEDSERVICES, "api", NAMESPACE)
    assert found.metadata.labels == {"team": "a"}


async def test_an_update_stores_exactly_the_spec_that_was_sent(stage):
    commands = await start(stage)
    template = {"labels": {"tier": "front"}, "annotations": {"a/b": "c"}}
    before = order(**PLACED, env=[{"name": "MODE", "value": "secret"}], replicas=2, podTemplate=template)
    await commands.apply(before, **ME)
    await until_serving(stage)
    after = order(image="api:2", **PLACED, podTemplate={"labels": {"tier": "back"}})
    seen = (await commands.preview(after)).change
    assert (await spec_of(stage))["image"] == "api:1", "a preview writes nothing"
    assert seen.action == "update" and seen.new_pods and seen.preflight.ok
    assert seen.changes == ("image: api:1 -> api:2", "replicas: 2 -> 1", "env changes", "podTemplate changes")
    await commands.apply(after, **ME)
    stored = await spec_of(stage)
    assert stored["podTemplate"] == {"labels": {"tier": "back"}}
    assert (stored["image"], stored["replicas"], stored.get("env")) == ("api:2", 1, None)
    await until_serving(stage)
    update = (await rows(stage))[0]
    assert update.action == "update" and "secret" not in str(update.evidence)


async def test_an_order_for_another_object_or_version_is_refused(stage):
    commands = await start(stage)
    with pytest.raises(NotFound):
        await commands.apply(with_metadata({"uid": "somebody"}), **ME)
    made = await commands.apply(with_metadata({}), **ME)
    for metadata in ({"uid": "somebody"}, {"resourceVersion": "1"}):
        with pytest.raises(Conflict):
            await commands.apply(with_metadata(metadata, image="api:2"), **ME)
        with pytest.raises(Conflict):
            await commands.preview(with_metadata(metadata, image="api:2"))
    assert (await spec_of(stage))["image"] == "api:1"
    await commands.apply(with_metadata({"uid": made.service.uid}, image="api:2"), **ME)
    assert (await spec_of(stage))["image"] == "api:2"


@pytest.mark.parametrize("seed", fast_first(range(5), 2))
async def test_orders_at_the_same_time_leave_one_of_them_whole(seed: int):
    async with on_stage(seed) as stage:
        commands = await start(stage)
        ordered = [order(image=f"api:{n}", replicas=n, **PLACED) for n in range(1, 6)]
        await asyncio.gather(*(commands.apply(one, **ME) for one in ordered))
        stored = await spec_of(stage)
        assert stored["image"] == f"api:{stored['replicas']}"
        await until_serving(stage)


@pytest.mark.slow
async def test_what_changes_while_an_order_is_written_is_not_left_in_the_spec(stage):
    slow = Rule(Delay(5), methods=frozenset({"PATCH"}), path="/managedservices/api$", nth=frozenset({1}))
    commands = await start(stage, slow)
    template = {"labels": {"tier": "front"}}
    await commands.apply(order(**PLACED, podTemplate=template), **ME)
    applying = asyncio.create_task(commands.apply(order(image="api:2", **PLACED, podTemplate=template), **ME))
    await stage.clock.sleep(1)
    other = {"spec": {"podTemplate": {"annotations": {"a/b": "c"}}}}
    await stage.client.merge_patch(MANAGEDSERVICES, "api", other, NAMESPACE)
    await applying
    stored = await spec_of(stage)
    assert stored["image"] == "api:2" and stored["podTemplate"] == template


@pytest.mark.parametrize("effect", [LoseAnswer(), Answer(503, "ServiceUnavailable")])
async def test_an_order_whose_answer_is_lost_is_unknown_and_can_be_sent_again(stage, effect: Any):
    lost = Rule(effect, methods=frozenset({"POST"}), resource="managedservices", nth=frozenset({1}))
    commands = await start(stage, lost)
    with pytest.raises(Unavailable):
        await commands.apply(order(**PLACED), **ME)
    again = await commands.apply(order(**PLACED), **ME)
    assert again.change.action == ("unchanged" if isinstance(effect, LoseAnswer) else "create")
    await until_serving(stage)
    assert len((await stage.client.list(MANAGEDSERVICES, NAMESPACE)).items) == 1
    first = (await stage.ledger.audit.list(AuditFilter(name="api", actor=ME["actor"]))).items[-1]
    assert first.outcome is AuditOutcome.FAILED and "may have taken effect" in first.error


def _audit_is_away(call: LedgerCall) -> Fault:
    return Fault.AWAY if call.noun == "audit" and call.method == "begin" else Fault.NONE


async def test_without_a_ledger_nothing_is_written(stage):
    replica = stage.start("a", fault=_audit_is_away)
    await stage.clock.sleep(5)
    with pytest.raises(Unavailable):
        await replica.mooring.services.commands.apply(order(**PLACED), **ME)
    assert (await stage.client.list(MANAGEDSERVICES, NAMESPACE)).items == []


async def test_what_nobody_could_apply_is_said_before(stage):
    commands = await start(stage)
    body = {"metadata": {"name": "api"}, "spec": {"ports": [{"port": 80}]}}
    await stage.client.create(SERVICES, body, NAMESPACE)
    seen = (await commands.preview(order(**PLACED))).change.preflight
    assert (seen.ok, seen.code) == (False, "NameTaken")
    template = {"serviceAccountName": "nobody"}
    seen = (await commands.preview(order(**PLACED, podTemplate=template))).change.preflight
    assert not seen.ok and "nobody" in seen.message and "create serviceaccount nobody" in seen.fix
    elsewhere = read_order("nowhere", "api", {"image": "api:1", "port": 8080})
    with pytest.raises(NotFound, match="no namespace nowhere"):
        await commands.preview(elsewhere)
    with pytest.raises(InvalidInput):  # only the CRD knows this limit
        await commands.preview(order(image="i" * 2000))


async def test_a_refused_order_is_stored_and_applied_as_soon_as_a_node_takes_it(stage):
    commands = await start(stage)
    made = await commands.apply(order(), **ME)
    assert not made.change.preflight.ok
    await until_code(stage, "Unschedulable")
    stored = (await commands.preview(order(replicas=2))).change.preflight
    assert stored.fix.startswith("kubectl -n runners patch managedservice api"), "it exists: a command changes it"
    await commands.apply(order(**PLACED), **ME)
    await until_serving(stage)


async def test_a_deleted_service_goes_with_everything_that_it_owns(stage):
    commands = await start(stage)
    made = await commands.apply(order(**PLACED), **ME)
    await until_serving(stage)
    with pytest.raises(Conflict):
        await commands.remove(NAMESPACE, "api", "somebody", **ME)
    seen = await commands.preview_removal(NAMESPACE, "api")
    assert "1 ready pods" in seen.change.preflight.message and await objects(stage) == 3
    gone = await commands.remove(NAMESPACE, "api", made.service.uid, **ME)
    assert gone.change.action == "delete" and gone.service.terminating

    async def nothing_left() -> bool:
        return await objects(stage) == 0 and await stage.pods() == []

    await stage.until(nothing_left, 120, "the objects of the service are gone")
    assert [row.action for row in await rows(stage)] == ["delete", "create"]
    with pytest.raises(NotFound):
        await commands.remove(NAMESPACE, "api", "", **ME)


async def test_its_objects_name_the_service_as_their_owner(stage):
    commands = await start(stage)
    made = await commands.apply(order(**PLACED), **ME)
    await until_serving(stage)
    for kind in (DEPLOYMENTS, SERVICES, BUDGETS):
        owner = (await stage.client.get(kind, "api", NAMESPACE)).metadata.controller
        assert owner is not None and owner.uid == made.service.uid
