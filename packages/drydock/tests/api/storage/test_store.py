import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drydock.api.answers.status import Refusal
from drydock.api.storage.store import Store, Stored, TableKey, object_key, without_type

KEY = TableKey("", "configmaps")


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "data": data, "kind": "ConfigMap", "metadata": {"name": name}}


def put(store: Store, name: str, **data: str) -> Stored:
    return store.put(store.table(KEY), object_key("default", name), config_map(name, **data))


def test_an_object_is_stored_with_its_json_and_the_next_version() -> None:
    store = Store()
    before = store.version
    stored = put(store, "a", k="v")
    assert stored.version == before + 1 == store.version
    assert msgspec.json.decode(stored.encoded) == stored.object
    assert stored.object["metadata"]["resourceVersion"] == str(stored.version)
    assert stored.encoded.startswith(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{')
    assert without_type(stored.encoded).startswith(b'{"metadata":{"name":"a"')


def test_a_copy_shares_nothing_with_the_stored_object() -> None:
    store = Store()
    stored = put(store, "a", k="v")
    copy = stored.copy()
    copy["data"]["k"] = "changed"
    assert stored.object["data"] == {"k": "v"}


def test_a_change_tells_listeners_before_the_writer_goes_on() -> None:
    store = Store()
    heard: list[tuple[str, str]] = []
    store.table(KEY).listen(lambda change: heard.append((change.type, change.stored.key)))
    put(store, "a")
    put(store, "a", k="v")
    store.remove(store.table(KEY), "default/a")
    assert heard == [("ADDED", "default/a"), ("MODIFIED", "default/a"), ("DELETED", "default/a")]


def test_a_deleted_object_is_last_seen_under_the_version_of_its_end() -> None:
    store = Store()
    put(store, "a", k="v")
    gone = store.remove(store.table(KEY), "default/a")
    assert gone.version == store.version and gone.object["data"] == {"k": "v"}
    change = store.table(KEY).history[-1]
    assert change.previous is not None and change.previous.version == store.version - 1


def test_a_forgotten_version_can_neither_be_listed_nor_watched_from() -> None:
    store = Store(history_capacity=4)
    versions = [put(store, "a", n=str(number)).version for number in range(8)]
    table = store.table(KEY)
    with pytest.raises(Refusal) as refused:
        list(table.range_at(versions[0], ""))
    assert refused.value.code == 410
    with pytest.raises(Refusal):
        table.position_after(versions[0])
    assert table.position_after(versions[-1]) == table.next_position


def test_a_table_made_late_knows_nothing_of_the_time_before_it() -> None:
    store = Store()
    put(store, "a")
    late = store.table(TableKey("", "secrets"))
    assert late.oldest_version == store.version


names = st.sampled_from(["a", "b", "c", "d"])
actions = st.lists(st.tuples(st.sampled_from(["put", "remove"]), names), max_size=30)


@given(actions=actions, moment=st.integers(0, 30), prefix=st.sampled_from(["", "default/", "other/"]))
@settings(max_examples=200, deadline=None)
def test_a_range_at_a_version_is_what_it_was_then(actions: list[tuple[str, str]], moment: int, prefix: str) -> None:
    store = Store()
    table = store.table(KEY)
    then: tuple[int, list[Stored]] = (store.version, [])
    for number, (action, name) in enumerate(actions):
        key = f"{'other' if name == 'd' else 'default'}/{name}"
        if action == "put":
            store.put(table, key, config_map(name, n=str(number)))
        elif key in table.objects:
            store.remove(table, key)
        if number <= moment:
            then = (store.version, list(table.range(prefix)))
    version, expected = then
    assert list(table.range_at(version, prefix)) == expected
    assert [stored.key for stored in table.range("")] == sorted(table.objects)
