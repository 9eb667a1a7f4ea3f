"""Own writes that a lagging watch has not shown yet."""

from drydock import VirtualLoop
from mooring.engine.expectations import Expectations

POOL = "runners/linux"


def expectations() -> Expectations[str]:
    return Expectations(VirtualLoop.running().clock, 300.0)


async def test_a_create_counts_until_the_cache_shows_its_name() -> None:
    expected = expectations()
    expected.created(POOL, "linux-0", 17, "the pod")
    assert expected.unseen(POOL, (), 16).creating == {"linux-0": "the pod"}
    assert not expected.unseen(POOL, {"linux-0"}, 16).creating
    assert not expected.unseen(POOL, (), 16).creating


async def test_a_create_that_a_newer_cache_does_not_show_was_deleted_again() -> None:
    expected = expectations()
    expected.created(POOL, "linux-0", 17)
    assert not expected.unseen(POOL, (), 17).creating


async def test_a_lost_answer_has_no_version_and_counts_until_it_is_seen_or_expires() -> None:
    expected = expectations()
    expected.created(POOL, "linux-0", 0)
    assert expected.unseen(POOL, (), 99).creating
    await VirtualLoop.running().clock.sleep(300)
    assert not expected.unseen(POOL, (), 99).creating


async def test_a_delete_counts_until_the_uid_is_gone() -> None:
    expected = expectations()
    expected.deleted(POOL, "uid-0")
    assert expected.unseen(POOL, {"uid-0"}, 1).deleting == {"uid-0"}
    assert not expected.unseen(POOL, set(), 2).deleting


async def test_scopes_are_separate_and_forgotten_with_their_object() -> None:
    expected = expectations()
    expected.taken(POOL, "linux-0")
    expected.taken("queries/duck", "duck-0")
    assert expected.unseen(POOL, (), 1).taken == {"linux-0"}
    expected.forget(POOL)
    assert not expected.unseen(POOL, (), 1).taken
    assert expected.unseen("queries/duck", (), 1).taken == {"duck-0"}
