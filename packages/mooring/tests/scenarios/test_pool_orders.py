"""Pools that are created, changed and scaled through Mooring: audited, checked by the API server, never by surprise."""

import pytest

from mooring.ledger.records import AuditFilter
from mooring.model.errors import Conflict, InvalidInput, NotFound
from mooring.model.pool_order import read_pool_order

NAMESPACE = "runners"
TEMPLATE = {"spec": {"containers": [{"name": "w", "image": "busybox"}]}}
SPEC = {"warm": 1, "max": 2, "template": TEMPLATE}
WHO = {"actor": "ann", "reason": "for builds"}


async def test_a_pool_is_foreseen_created_changed_and_scaled_with_an_audit_row_each(world):
    replica = world.start()
    commands = replica.mooring.pools.commands
    order = read_pool_order(NAMESPACE, "ordered", SPEC)
    assert (await commands.preview(order)).action == "create"
    with pytest.raises(NotFound):
        await commands.scale(NAMESPACE, "ordered", 1, **WHO)
    assert (await commands.apply(order, **WHO)).action == "create"
    await world.until_idle(1, name="ordered")
    assert (await commands.apply(order, **WHO)).action == "unchanged"
    larger = await commands.apply(read_pool_order(NAMESPACE, "ordered", {**SPEC, "max": 3}), **WHO)
    assert larger.changes == ("spec.max: 2 -> 3",) and not larger.new_workers
    assert (await commands.scale(NAMESPACE, "ordered", 2, **WHO)).changes == ("spec.warm: 1 -> 2",)
    await world.until_idle(2, name="ordered")
    rows = await replica.ledger.audit.list(AuditFilter(kind="WorkerPool", name="ordered"))
    assert [(row.entry.action, row.entry.actor, row.outcome.value) for row in rows.items] == [
        ("update", "ann", "done"),
        ("update", "ann", "done"),
        ("create", "ann", "done"),
    ]


async def test_an_order_for_another_pool_of_that_name_or_beyond_its_limit_is_refused(world):
    commands = world.start().mooring.pools.commands
    await commands.apply(read_pool_order(NAMESPACE, "ordered", SPEC), **WHO)
    manifest = {"metadata": {"name": "ordered", "uid": "another"}, "spec": {**SPEC, "max": 4}}
    with pytest.raises(Conflict):
        await commands.apply(read_pool_order(NAMESPACE, "ordered", manifest), **WHO)
    with pytest.raises(InvalidInput, match=r"between 0 and spec\.max"):
        await commands.scale(NAMESPACE, "ordered", 3, **WHO)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ([], "body"),
        ({"warm": 3, "max": 1, "template": TEMPLATE}, "spec.warm"),
        ({**SPEC, "wram": 1}, "spec.wram"),
        ({**SPEC, "protection": {"ceilingSecond": 60}}, "spec.protection.ceilingSecond"),
        ({**SPEC, "health": {"port": 80, "failure": 1}}, "spec.health.failure"),
        ({**SPEC, "demand": {"schedules": [{"cron": "0 8 * * *", "idle": 3}]}}, "spec.demand.schedules[0].idle"),
        ({"spec": SPEC, "warm": 2}, "spec.warm"),
        ({"kind": "Pod", "spec": SPEC}, "kind"),
        ({"metadata": {"name": "other"}, "spec": SPEC}, "metadata.name"),
        ({"warm": "many", "max": 1}, "spec"),
    ],
)
def test_a_wrong_order_names_the_field(sent: object, field: str):
    with pytest.raises(InvalidInput) as refused:
        read_pool_order(NAMESPACE, "ordered", sent)
    assert field in str(refused.value)
