"""The life of custom kinds: served once their definition's names are accepted, cleaned up before it goes."""

from drydock.api.cluster import Cluster
from drydock.api.custom.definition import established_status, is_established, kinds_of
from drydock.api.kinds.kind import Object
from drydock.api.requests.options import DeleteOptions
from drydock.api.storage.store import Change, Stored, Table, TableKey
from drydock.api.verbs.deleting import remove

_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class Definitions:
    """Follows the definitions in the store and keeps the catalog true to them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._table = cluster.table(cluster.builtin("apiextensions.k8s.io", "customresourcedefinitions"))
        self._followed: set[TableKey] = set()
        for stored in list(self._table.objects.values()):
            self._settle(stored)
        self._table.listen(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.type == "DELETED":
            self._cluster.catalog.define(change.stored.key, ())
        elif change.stored is self._table.objects.get(change.stored.key):
            self._settle(change.stored)

    def _settle(self, stored: Stored) -> None:
        definition = stored.copy()
        metadata = definition["metadata"]
        if "deletionTimestamp" in metadata:
            self._clean_up(stored)
            return
        others = [held.object for held in self._table.objects.values()]
        definition["status"] = established_status(definition, others, self._cluster.clock.now())
        if _CLEANUP not in metadata.setdefault("finalizers", []):
            metadata["finalizers"].append(_CLEANUP)
        if definition != stored.object:
            # The change calls this again, and then there is nothing left to settle.
            self._cluster.store.put(self._table, stored.key, definition)
            return
        if is_established(definition):
            self._follow(stored.key, self._objects_of(definition))
            self._cluster.catalog.define(stored.key, kinds_of(definition))

    def _clean_up(self, stored: Stored) -> None:
        """Delete the kind's objects; the definition goes after the last of them."""
        spec = stored.object["spec"]
        table = self._objects_of(stored.object)
        served = [version["name"] for version in spec["versions"] if version.get("served")]
        kind = self._cluster.catalog.find(spec["group"], served[0], spec["names"]["plural"]) if served else None
        for held in list(table.objects.values()) if kind else ():
            if kind is not None and "deletionTimestamp" not in held.object["metadata"]:
                remove(self._cluster, kind, held, DeleteOptions())
        if stored.key in self._table.objects and not table.objects:
            self._let_go(self._table.objects[stored.key])

    def _let_go(self, stored: Stored) -> None:
        rest = [finalizer for finalizer in stored.object["metadata"].get("finalizers") or () if finalizer != _CLEANUP]
        if not rest:
            self._cluster.store.remove(self._table, stored.key)
        elif rest != stored.object["metadata"]["finalizers"]:
            definition = stored.copy()
            definition["metadata"]["finalizers"] = rest
            self._cluster.store.put(self._table, stored.key, definition)

    def _follow(self, name: str, table: Table) -> None:
        if table.key in self._followed:
            return
        self._followed.add(table.key)

        def on_object(change: Change) -> None:
            definition = self._table.objects.get(name)
            if change.type == "DELETED" and definition and "deletionTimestamp" in definition.object["metadata"]:
                self._clean_up(definition)

        table.listen(on_object)

    def _objects_of(self, definition: Object) -> Table:
        spec = definition["spec"]
        return self._cluster.store.table(TableKey(spec["group"], spec["names"]["plural"]))
