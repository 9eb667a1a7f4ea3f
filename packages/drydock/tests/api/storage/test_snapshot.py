"""An API server that goes on from a backup of etcd: older objects, rising versions, no history."""

from drydock.api.storage.store import Change as Step
from drydock.api.storage.store import Store, TableKey

PODS = TableKey("", "pods")


def pod(name: str, **labels: str) -> dict[str, object]:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "n", "labels": labels}}


def test_what_was_written_since_is_gone_and_what_was_deleted_is_back() -> None:
    store = Store()
    table = store.table(PODS)
    store.put(table, "n/a", pod("a", app="one"))
    store.put(table, "n/b", pod("b"))
    restore, before = store.snapshot(), store.version
    store.put(table, "n/a", pod("a", app="two"))
    store.remove(table, "n/b")
    store.put(table, "n/c", pod("c"))
    woken: list[Step | None] = []
    table.wakers.add(lambda: woken.append(None))
    restore()
    assert [stored.key for stored in table.range("n/")] == ["n/a", "n/b"]
    assert table.objects["n/a"].object["metadata"]["labels"] == {"app": "one"}
    assert table.objects["n/a"].version <= before < store.version
    assert woken and table.history == [] and table.oldest_version == store.version


def test_the_same_backup_can_be_restored_twice() -> None:
    store = Store()
    table = store.table(PODS)
    restore = store.snapshot()
    store.put(table, "n/a", pod("a"))
    restore()
    store.put(table, "n/a", pod("a"))
    restore()
    assert table.objects == {} and list(table.range("")) == []
