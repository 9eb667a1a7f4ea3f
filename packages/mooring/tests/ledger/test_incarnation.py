import asyncio

import asyncpg
import pytest

from mooring.ledger.migrations import SCHEMA
from mooring.ledger.records import Cause, Channel, Wake
from mooring.model.errors import Unavailable
from packages.mooring.tests.ledger.worlds import NOW, PostgresWorld, World, after, claimed, eventually, running
from packages.mooring.tests.postgres import PostgresForTests


async def test_a_new_ledger_is_armed_and_the_same_for_everyone(world: World) -> None:
    one, other = await world.open(), await world.open()
    assert one.incarnation == other.incarnation == await one.meta.incarnation()
    assert (one.incarnation.cause, one.incarnation.armed) == (Cause.CREATED, True)


async def test_a_restored_backup_is_another_unarmed_ledger(world: World) -> None:
    ledger = await world.open()
    before = ledger.incarnation
    kept = await claimed(ledger, "a")
    restore = await world.back_up()
    lost = await _once_back(lambda: claimed(ledger, "b"))
    await restore()
    live = await _once_back(ledger.claims.live)
    assert live.claims == (kept,)
    assert (live.incarnation == before.id, live.armed) == (False, False)
    assert (ledger.incarnation.cause, ledger.incarnation.armed) == (Cause.RESTORED, False)
    assert (await claimed(ledger, "b")).epoch > lost.epoch, "an epoch that was lost is not handed out again"
    assert (await world.open()).incarnation == ledger.incarnation


async def test_lost_epochs_are_not_handed_out_by_a_process_that_never_saw_them(world: World) -> None:
    ledger = await world.open()
    restore = await world.back_up()
    await _once_back(ledger.meta.ping)
    lost = [await claimed(ledger, f"w{number}") for number in range(5)][-1]
    await ledger.close()
    await restore()
    assert (await claimed(await world.open(), "a")).epoch > lost.epoch


async def test_an_epoch_the_ledger_never_gave_shows_that_it_lost_commits(world: World) -> None:
    ledger, other = await world.open(), await world.open()
    before = ledger.incarnation
    heard: list[Wake] = []
    other.listen(Channel.INCARNATION, heard.append)
    claim = await running(ledger)
    assert await ledger.meta.observe_epoch(claim.epoch, now=NOW) == before, "its own epochs are no surprise"
    changed = await ledger.meta.observe_epoch(claim.epoch + 5000, now=after(1))
    assert (changed.cause, changed.armed, changed.since) == (Cause.WENT_BACK, False, after(1))
    assert ledger.incarnation == changed != before
    await eventually(lambda: Wake(Channel.INCARNATION, changed.id) in heard)
    assert (await other.claims.live()).incarnation == other.incarnation.id == changed.id
    assert (await claimed(ledger, "b")).epoch > claim.epoch + 5000
    assert await other.meta.observe_epoch(claim.epoch + 5000, now=after(2)) == changed


async def test_replicas_that_observe_the_same_loss_agree_on_one_new_incarnation(world: World) -> None:
    processes = [await world.open() for _ in range(4)]
    seen = await asyncio.gather(*(ledger.meta.observe_epoch(700, now=NOW) for ledger in processes))
    assert len({incarnation.id for incarnation in seen}) == 1


async def test_an_incarnation_is_armed_by_name_once(world: World) -> None:
    ledger = await world.open()
    over = await ledger.meta.observe_epoch(999, now=NOW)
    unarmed = await ledger.meta.observe_epoch(9_999_999, now=NOW)
    heard: list[Wake] = []
    ledger.listen(Channel.INCARNATION, heard.append)
    assert await ledger.meta.arm(over.id, actor="ann", now=NOW) == unarmed, "that one is over"
    armed = await ledger.meta.arm(unarmed.id, actor="ann", now=NOW)
    await eventually(lambda: Wake(Channel.INCARNATION, unarmed.id) in heard[-1:])
    assert Wake(Channel.INCARNATION, over.id) not in heard
    assert (armed.id, armed.armed, ledger.incarnation) == (unarmed.id, True, armed)
    assert (await ledger.claims.live()).armed
    assert await ledger.meta.arm(unarmed.id, actor="bob", now=NOW) == armed


async def test_a_ledger_knows_which_of_its_incarnations_came_first(world: World) -> None:
    ledger = await world.open()
    first = ledger.incarnation.id
    second = (await ledger.meta.observe_epoch(999, now=NOW)).id
    third = (await ledger.meta.observe_epoch(9_999_999, now=NOW)).id
    ids = {"first": first, "second": second, "third": third, "of another": "ffff"}
    pairs = [(later, earlier) for later in ids for earlier in ids]
    found = [(later, earlier) for later, earlier in pairs if await ledger.meta.succeeds(ids[later], ids[earlier])]
    assert found == [("second", "first"), ("third", "first"), ("third", "second")]


async def test_a_ledger_that_forgot_what_it_answered_is_noticed_at_the_reconnect(postgres: PostgresForTests) -> None:
    world = PostgresWorld(postgres)
    try:
        ledger = await world.open()
        for pod in ("a", "b", "c"):
            await claimed(ledger, pod)
        await _in_database(world.url, "DELETE FROM claims WHERE epoch > 1", "SELECT setval('claim_epochs', 1)")
        await world.cut_connections()
        assert not (await _once_back(ledger.claims.live)).armed
        assert ledger.incarnation.cause is Cause.WENT_BACK
    finally:
        await world.close()


@pytest.mark.parametrize(
    ("column", "cause"),
    [("timeline", Cause.FAILED_OVER), ("system_identifier", Cause.RESTORED), ("table_oid", Cause.RESTORED)],
)
async def test_another_place_or_timeline_begins_an_unarmed_incarnation(
    postgres: PostgresForTests, column: str, cause: Cause
) -> None:
    world = PostgresWorld(postgres)
    try:
        first = (await world.open()).incarnation
        await _in_database(world.url, f"UPDATE incarnations SET {column} = '1234'")
        second = (await world.open()).incarnation
        assert (second.id == first.id, second.cause, second.armed) == (False, cause, False)
        assert (await world.open()).incarnation == second
    finally:
        await world.close()


async def _once_back(call):  # type: ignore[no-untyped-def]
    """The answer, as soon as the ledger gives one again."""
    async with asyncio.timeout(5):
        while True:
            try:
                return await call()
            except Unavailable:
                await asyncio.sleep(0.01)


async def _in_database(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url, server_settings={"search_path": SCHEMA})
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_backup_has_the_seal_key_of_its_ledger_and_another_ledger_has_another(world: World) -> None:
    ledger, other = await world.open(), await world.open()
    key = ledger.seal_key
    assert key == other.seal_key and len(key.secret) >= 64
    restore = await world.back_up()
    await _once_back(ledger.meta.ping)
    seal = ledger.seal_key.seal("pod", "claim", (await claimed(ledger, "a")).epoch)
    await restore()
    await _once_back(ledger.meta.ping)
    assert (await world.open()).seal_key == ledger.seal_key == key
    assert key.verifies(seal, "pod", "claim", 1) and not key.verifies(seal, "pod", "claim", 2)


async def test_the_ledger_says_the_highest_epoch_that_it_has_issued(world: World) -> None:
    ledger = await world.open()
    assert await ledger.meta.issued_epoch() == 0
    claim = await claimed(ledger, "a")
    assert await ledger.meta.issued_epoch() == claim.epoch
    await ledger.meta.observe_epoch(700, now=NOW)
    assert await ledger.meta.issued_epoch() > 700
