"""A ledger that was restored and armed again: every replica acts on it, whatever it saw of the restore itself."""

from mooring.ledger.records import Incarnation
from packages.mooring.tests.scenarios.harbour import Harbour, Replica
from packages.mooring.tests.scenarios.leaks import leak, stamped


async def restore(world: Harbour) -> None:
    """Load a backup that has all rows."""
    store = world.ledger._session.store  # type: ignore[attr-defined]
    store.restore(store.backup())


async def arm(world: Harbour) -> Incarnation:
    present = await world.ledger.meta.incarnation()
    assert not present.armed
    return await world.ledger.meta.arm(present.id, actor="operator", now=world.clock.now())


async def open_pool(world: Harbour) -> None:
    await world.pool(warm=2, max=4)
    await world.until_idle(2)
    world.words.otherwise = False  # type: ignore[attr-defined]


async def assert_stamps_heal(world: Harbour) -> None:
    await leak(world, 1)

    async def healed() -> bool:
        return not await stamped(world)

    await world.until(healed, 500, "no stamps")


async def test_a_ledger_that_was_armed_before_the_leader_looked_is_believed_without_a_restart(world):
    world.start()
    await open_pool(world)
    await restore(world)
    await arm(world)
    await assert_stamps_heal(world)


async def test_two_restores_between_two_looks_are_believed_once_the_last_is_armed(world):
    world.start()
    await open_pool(world)
    for _ in range(2):
        await restore(world)
        await arm(world)
    await assert_stamps_heal(world)


async def test_a_replica_that_leads_only_after_the_ledger_was_armed_believes_it(world):
    first = world.start("first")
    await open_pool(world)
    second = world.start("second")
    await second.mooring.wait_synced()
    await restore(world)
    await world.clock.sleep(60)
    await arm(world)
    await world.clock.sleep(60)
    await first.kill()
    await until_it_leads(world, second)
    await assert_stamps_heal(world)


async def until_it_leads(world: Harbour, replica: Replica) -> None:
    async def leads() -> bool:
        return replica.mooring.leadership.leading

    await world.until(leads, 30, "the second one leads")
