"""Sessions of pages: by the hash of their id, until they expire or are ended."""

from mooring.ledger.page_sessions import PageSession
from mooring.model.identity import Identity
from packages.mooring.tests.ledger.worlds import NOW, World, after

ROBOT = Identity("system:serviceaccount:a:b", ("g1", "g2"), "uid-1", (("key", ("one", "two")),), "kubernetes")


def session(id_hash: str = "h1", seconds: float = 60, identity: Identity = ROBOT) -> PageSession:
    return PageSession(id_hash, identity, "proof", NOW, after(seconds))


async def test_a_session_is_found_on_every_replica_as_it_was_made(world: World) -> None:
    one, other = await world.open(), await world.open()
    await one.sessions.create(session())
    assert await other.sessions.find("h1", now=after(59)) == session()
    assert await other.sessions.find("h2", now=after(1)) is None


async def test_a_session_is_not_found_once_it_has_expired(world: World) -> None:
    ledger = await world.open()
    await ledger.sessions.create(session())
    assert await ledger.sessions.find("h1", now=after(60)) is None


async def test_a_session_is_ended_once_for_all_and_ending_it_again_is_fine(world: World) -> None:
    one, other = await world.open(), await world.open()
    await one.sessions.create(session())
    for _ in range(2):
        await one.sessions.delete("h1")
        assert await other.sessions.find("h1", now=after(1)) is None


async def test_a_session_that_is_made_again_after_a_lost_answer_stays_as_it_was(world: World) -> None:
    ledger = await world.open()
    await ledger.sessions.create(session())
    await ledger.sessions.create(session(identity=Identity("somebody else")))
    assert await ledger.sessions.find("h1", now=after(1)) == session()


async def test_expired_sessions_are_pruned_in_batches_and_others_stay(world: World) -> None:
    ledger = await world.open()
    for number in range(5):
        await ledger.sessions.create(session(f"old-{number}", seconds=number + 1))
    await ledger.sessions.create(session("fresh", seconds=100))
    assert await ledger.sessions.prune(now=after(50), limit=3) == 3
    assert await ledger.sessions.prune(now=after(50), limit=3) == 2
    assert await ledger.sessions.prune(now=after(50), limit=3) == 0
    assert await ledger.sessions.find("fresh", now=after(50)) is not None
