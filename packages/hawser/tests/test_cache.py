import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hawser import cache as cache_module
from hawser.backoff import Backoff
from hawser.cache import Cache, Change, Identity, identify
from hawser.clock import Entropy
from hawser.views import Pod
from hawser.views.base import Meta


def pod(name: str, version: int, *, uid: str = "", app: str = "", namespace: str = "default") -> Pod:
    labels = {"app": app} if app else {}
    meta = Meta(name=name, namespace=namespace, uid=uid or f"uid-{name}", resource_version=str(version), labels=labels)
    return Pod(metadata=meta)


def known(item: Any) -> Identity:
    identity = identify(item)
    assert identity is not None
    return identity


def put(cache: Cache[Pod], item: Pod) -> tuple[Change[Pod], ...]:
    return cache.put(item, known(item))


def remove(cache: Cache[Pod], item: Pod) -> tuple[Change[Pod], ...]:
    return cache.remove(item, known(item))


def replace(cache: Cache[Pod], items: list[Pod], version: int, *, whole: bool = True) -> list[Change[Pod]]:
    return cache.replace({known(item).key: (known(item), item) for item in items}, version, whole=whole)


def by_app(item: Pod) -> list[str]:
    return [item.metadata.labels["app"]] if "app" in item.metadata.labels else []


def test_an_object_is_added_modified_and_deleted() -> None:
    cache: Cache[Pod] = Cache({})
    first, second, last = pod("a", 1), pod("a", 2), pod("a", 3)
    assert put(cache, first) == (Change("added", None, first),)
    assert put(cache, second) == (Change("modified", first, second),)
    assert cache.get("default", "a") is second
    assert remove(cache, last) == (Change("deleted", last, None),)
    assert cache.get("default", "a") is None
    assert len(cache) == 0


@pytest.mark.parametrize("version", [4, 5, 10])
def test_news_that_is_not_newer_is_ignored_and_versions_compare_as_numbers(version: int) -> None:
    cache: Cache[Pod] = Cache({})
    held = pod("a", 10)
    put(cache, held)
    assert put(cache, pod("a", version, app="old")) == ()
    assert cache.get("default", "a") is held


def test_an_old_deletion_does_not_take_out_a_newer_object() -> None:
    cache: Cache[Pod] = Cache({})
    put(cache, pod("a", 10, uid="new"))
    assert remove(cache, pod("a", 9, uid="old")) == ()
    assert len(cache) == 1


def test_a_deletion_under_the_version_that_is_held_counts() -> None:
    cache: Cache[Pod] = Cache({})
    put(cache, pod("a", 10))
    assert [change.kind for change in remove(cache, pod("a", 10))] == ["deleted"]


def test_old_news_does_not_raise_the_dead() -> None:
    cache: Cache[Pod] = Cache({})
    put(cache, pod("a", 10))
    remove(cache, pod("a", 12))
    assert put(cache, pod("a", 11)) == ()
    assert put(cache, pod("a", 12)) == ()
    assert [change.kind for change in put(cache, pod("a", 13, uid="second life"))] == ["added"]


def test_news_older_than_the_list_does_not_raise_what_the_list_lacked() -> None:
    cache: Cache[Pod] = Cache({})
    replace(cache, [pod("a", 10)], 50)
    assert put(cache, pod("b", 49)) == ()
    assert [change.kind for change in put(cache, pod("b", 51))] == ["added"]


def test_old_news_of_other_objects_still_counts_when_it_is_newer_than_the_list() -> None:
    cache: Cache[Pod] = Cache({})
    replace(cache, [pod("a", 10), pod("b", 11)], 50)
    put(cache, pod("a", 60))
    assert [change.kind for change in put(cache, pod("b", 55))] == ["modified"]
    assert [change.kind for change in put(cache, pod("c", 56))] == ["added"]


def test_the_dead_stay_dead_when_there_is_no_room_to_remember_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_TOMBSTONES_KEPT", 3)
    cache: Cache[Pod] = Cache({})
    for number in range(10):
        put(cache, pod(f"p{number}", 100 + number))
    for number in range(10):
        remove(cache, pod(f"p{number}", 200 + number))
    for number in range(10):
        assert put(cache, pod(f"p{number}", 150 + number)) == ()
    assert len(cache._deleted_at) == 3


def test_another_object_under_the_same_name_is_a_deletion_and_an_addition() -> None:
    cache: Cache[Pod] = Cache({})
    first, second = pod("a", 1, uid="one"), pod("a", 9, uid="two")
    put(cache, first)
    assert put(cache, second) == (Change("deleted", first, None), Change("added", None, second))
    assert replace(cache, [third := pod("a", 12, uid="three")], 20) == [
        Change("deleted", second, None),
        Change("added", None, third),
    ]


def test_a_list_is_taken_in_as_a_difference_with_the_last_known_state_of_what_is_gone() -> None:
    cache: Cache[Pod] = Cache({"app": by_app})
    kept, changed, gone = pod("kept", 1), pod("changed", 2), pod("gone", 3, app="web")
    replace(cache, [kept, changed, gone], 5)
    newer, added = pod("changed", 8), pod("added", 9)
    assert replace(cache, [pod("kept", 1), newer, added], 10) == [
        Change("modified", changed, newer),
        Change("added", None, added),
        Change("deleted", gone, None),
    ]
    assert cache.get("default", "kept") is kept
    assert cache.by_index("app", "web") == ()


def test_a_newer_list_counts_also_for_an_object_whose_version_went_back() -> None:
    """After a restore of etcd that raises the revision, objects have the versions of the backup."""
    cache: Cache[Pod] = Cache({})
    kept, ahead = pod("kept", 1), pod("ahead", 8)
    replace(cache, [kept, ahead], 9)
    back = pod("ahead", 5)
    assert replace(cache, [pod("kept", 1), back], 1_000) == [Change("modified", ahead, back)]
    assert cache.get("default", "ahead") is back
    assert put(cache, pod("ahead", 8)) == (), "an event from before the list"
    assert [change.kind for change in put(cache, pod("ahead", 1_001))] == ["modified"]


def test_a_list_that_is_not_whole_deletes_nothing() -> None:
    cache: Cache[Pod] = Cache({})
    replace(cache, [pod("a", 1), pod("b", 2)], 5)
    assert replace(cache, [pod("a", 1)], 10, whole=False) == []
    assert len(cache) == 2


def test_snapshots_do_not_change_and_are_made_once() -> None:
    cache: Cache[Pod] = Cache({})
    assert cache.values() == ()
    put(cache, pod("a", 1))
    before = cache.values()
    assert cache.values() is before
    put(cache, pod("b", 2))
    assert [item.metadata.name for item in before] == ["a"]
    assert [item.metadata.name for item in cache.values()] == ["a", "b"]


def test_an_index_files_an_object_under_all_its_keys_and_follows_changes() -> None:
    cache: Cache[Pod] = Cache({"letters": lambda item: set(item.metadata.labels.get("app", ""))})
    put(cache, pod("a", 1, app="xy"))
    put(cache, second := pod("a", 2, app="yz"))
    assert cache.by_index("letters", "x") == ()
    assert cache.by_index("letters", "y") == (second,)
    assert cache.by_index("letters", "z") == (second,)
    assert set(cache.index_keys("letters")) == {"y", "z"}
    remove(cache, pod("a", 3, app="yz"))
    assert cache.index_keys("letters") == ()


def test_asking_an_index_costs_as_much_as_it_gives() -> None:
    cache: Cache[Pod] = Cache({"app": by_app})
    for number in range(2000):
        put(cache, pod(f"p{number}", number + 1, app="rare" if number == 7 else "common"))
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    found = cache.by_index("app", "rare")
    sys.setprofile(None)
    assert len(found) == 1
    assert calls < 10


def test_an_unknown_index_is_an_error() -> None:
    with pytest.raises(KeyError):
        Cache({}).by_index("app", "web")


@pytest.mark.parametrize(
    "item",
    [
        Pod(),
        Pod(metadata=Meta(name="a")),
        Pod(metadata=Meta(name="a", resource_version="abc")),
        Pod(metadata=Meta(resource_version="5")),
        {},
        {"metadata": {"name": "a"}},
    ],
)
def test_what_has_no_name_or_version_cannot_be_identified(item: Any) -> None:
    assert identify(item) is None


def test_raw_objects_are_identified_like_views() -> None:
    raw = {"metadata": {"namespace": "n", "name": "a", "uid": "u", "resourceVersion": "7"}}
    assert identify(raw) == Identity(("n", "a"), "u", 7)
    assert identify({"metadata": {"name": "node", "uid": "u", "resourceVersion": "7"}}) == Identity(
        ("", "node"), "u", 7
    )


EVENTS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(["put", "delete"]), st.sampled_from(["x", "y", "z", ""])),
    max_size=40,
)


@settings(deadline=None)
@given(history=EVENTS, data=st.data())
def test_however_often_old_news_comes_again_the_newest_state_stays(history: Any, data: st.DataObject) -> None:
    """A true history, in order, with any earlier event repeated anywhere, ends in the state of the true history."""
    cache: Cache[Pod] = Cache({"app": by_app})
    truth: dict[str, Pod] = {}
    told: list[tuple[str, Pod]] = []
    for version, (name, verb, app) in enumerate(history, start=1):
        if verb == "delete" and name not in truth:
            continue
        item = pod(name, version, uid=truth[name].metadata.uid if name in truth else f"uid-{version}", app=app)
        told.append((verb, item))
        if verb == "put":
            truth[name] = item
        else:
            del truth[name]
        for again_verb, again in [told[-1], *data.draw(st.lists(st.sampled_from(told), max_size=3))]:
            (put if again_verb == "put" else remove)(cache, again)
        assert {item.metadata.name: item for item in cache.values()} == truth
    for app in "xyz":
        filed = {item.metadata.name for item in cache.by_index("app", app)}
        assert filed == {name for name, item in truth.items() if app in by_app(item)}


def test_waits_are_jittered_under_a_ceiling_that_doubles_from_800_ms_to_30_s() -> None:
    for seed in range(50):
        backoff = Backoff(Entropy(seed))
        waits = [backoff.next_seconds() for _ in range(12)]
        for wait, ceiling in zip(waits, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, *[30.0] * 6], strict=True):
            assert 0 <= wait <= ceiling
        backoff.reset()
        assert backoff.next_seconds() <= 0.8
    longest = max(max(Backoff(Entropy(seed), first_seconds=30).next_seconds() for _ in range(3)) for seed in range(50))
    assert longest > 25
