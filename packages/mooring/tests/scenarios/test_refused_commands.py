"""Commands on objects that went away after they were read: nobody is answered that something was written."""

import pytest

from drydock.faults import Answer, Rule
from mooring.kinds.resources import WARMUPS
from mooring.ledger.records import AuditFilter
from mooring.model.audit import AuditOutcome
from mooring.model.errors import Conflict, NotFound
from mooring.model.pool_order import read_pool_order
from packages.mooring.tests.scenarios.harbour import NAMESPACE

TEMPLATE = {"spec": {"containers": [{"name": "w", "image": "busybox"}]}}
SPEC = {"warm": 1, "max": 2, "template": TEMPLATE}
WARMUP = {"dataset": "core", "shards": 1, "image": "busybox", "command": ["true"], "localPath": "/cache/core"}
WHO = {"actor": "ann", "reason": "doubt"}


def answer_patch(path: str, answer: Answer) -> Rule:
    return Rule(answer, methods=frozenset({"PATCH"}), path=path, nth=frozenset({1}))


@pytest.mark.parametrize(
    ("answer", "error"),
    [(Answer(404, "NotFound", "gone"), NotFound), (Answer(409, "Conflict", "another version"), Conflict)],
)
async def test_a_rewarm_that_is_not_written_is_not_promised(world, answer: Answer, error: type[Exception]):
    replica = world.start("a", [answer_patch(r"/warmups/core$", answer)])
    await world.client.create(WARMUPS, {"metadata": {"name": "core"}, "spec": WARMUP}, NAMESPACE)
    await world.clock.sleep(5)
    with pytest.raises(error, match="warmup runners/core"):
        await replica.mooring.warmups.commands.rewarm(NAMESPACE, "core", **WHO)
    (row,) = (await replica.ledger.audit.list(AuditFilter(kind="Warmup", actor="ann"))).items
    assert row.outcome is AuditOutcome.FAILED


async def test_a_change_of_a_pool_that_was_just_deleted_names_the_pool(world):
    gone = answer_patch(r"/workerpools/ordered$", Answer(404, "NotFound", "gone"))
    commands = world.start("a", [gone]).mooring.pools.commands
    await commands.apply(read_pool_order(NAMESPACE, "ordered", SPEC), **WHO)
    with pytest.raises(NotFound, match="no pool runners/ordered"):
        await commands.apply(read_pool_order(NAMESPACE, "ordered", {**SPEC, "max": 3}), **WHO)
    with pytest.raises(NotFound, match="no namespace nowhere"):
        await commands.apply(read_pool_order("nowhere", "ordered", SPEC), **WHO)
