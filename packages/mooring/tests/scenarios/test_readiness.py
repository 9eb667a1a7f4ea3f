"""A replica is ready while its caches follow the cluster and its ledger answers, and says what is missing if not."""

import pytest

from drydock.faults import Refuse, Rule
from mooring.ledger.faults import Fault, LedgerCall
from packages.mooring.tests.scenarios.harbour import Harbour, Replica

GET = frozenset({"GET"})


def reasons(replica: Replica) -> str:
    return "; ".join(replica.mooring.readiness.obstacles)


async def settled(world: Harbour, replica: Replica, within: float = 60) -> None:
    async def ready() -> bool:
        return not replica.mooring.readiness.obstacles

    await world.until(ready, within, "the replica is ready")


async def test_a_replica_that_has_read_nothing_yet_is_not_ready(world):
    replica = world.start()
    assert "the cache of pods is not read yet" in reasons(replica)
    assert "the ledger does not answer: no heartbeat was written yet" in reasons(replica)
    await settled(world, replica)
    assert replica.mooring.readiness.describe()["ledger"] == {"reachable": True, "error": ""}


@pytest.mark.slow
async def test_a_replica_that_cannot_read_the_cluster_is_not_ready_until_it_can_again(world):
    away = [Rule(Refuse(), resource="pods", methods=GET, since_seconds=60, until_seconds=1500)]
    replica = world.start(rules=away)
    await settled(world, replica)

    async def noticed() -> bool:
        return "the cache of pods is stale" in reasons(replica)

    await world.until(noticed, 800, "the lost watch is noticed")
    await settled(world, replica, within=1600)
    assert world.seconds > 1500


async def test_a_replica_whose_ledger_is_away_is_not_ready_within_a_heartbeat_and_recovers(world):
    away = False

    def fault(_: LedgerCall) -> Fault:
        return Fault.AWAY if away else Fault.NONE

    replica = world.start(fault=fault)
    await settled(world, replica)
    away = True
    await world.clock.sleep(world.timeouts.replica_heartbeat + 1)
    assert "the ledger does not answer" in reasons(replica)
    assert not replica.mooring.readiness.describe()["ledger"]["reachable"]
    away = False
    await world.clock.sleep(world.timeouts.replica_heartbeat + 1)
    assert reasons(replica) == ""


async def test_a_replica_whose_ledger_hangs_is_not_ready_before_the_call_fails(world, monkeypatch):
    replica = world.start()
    await settled(world, replica)
    answer = world.ledger.replicas.heartbeat

    async def hang(_, *given, **named):
        await world.clock.sleep(world.timeouts.statement)
        return await answer(*given, **named)

    monkeypatch.setattr(type(world.ledger.replicas), "heartbeat", hang)
    await world.clock.sleep(3 * world.timeouts.replica_heartbeat + 0.5)
    assert "the ledger does not answer: a heartbeat was not answered within 2 s" in reasons(replica)
    monkeypatch.undo()
    await world.clock.sleep(world.timeouts.statement + world.timeouts.replica_heartbeat)
    assert reasons(replica) == ""
