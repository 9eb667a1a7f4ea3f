"""The graph of owners and dependents."""

from typing import Any

from drydock.actors.garbage.ownership import Item, OwnerGraph, read_object, read_view
from hawser.resources import CONFIGMAPS, JOBS, PODS, Resource
from hawser.views import PartialObject
from hawser.views.base import Meta, OwnerReference
from packages.drydock.tests.actors.shapes import ago

Object = dict[str, Any]


def item(
    uid: str,
    *owners: str,
    blocks: bool = True,
    terminating: bool = False,
    finalizers: tuple[str, ...] = (),
    resource: Resource[Any] = PODS,
) -> Item:
    metadata: Object = {"name": uid, "namespace": "ns", "uid": uid, "finalizers": list(finalizers)}
    metadata["ownerReferences"] = [
        {"uid": owner, "apiVersion": "batch/v1", "kind": "Job", "name": owner, "blockOwnerDeletion": blocks}
        for owner in owners
    ]
    if terminating:
        metadata["deletionTimestamp"] = ago(0)
    return read_object(resource.raw(), {"metadata": metadata})


def test_a_child_whose_owner_was_never_seen_is_looked_at() -> None:
    graph = OwnerGraph()
    assert graph.put(item("child", "job")) == ["child"]


def test_a_child_of_a_known_owner_needs_no_look() -> None:
    graph = OwnerGraph()
    graph.put(item("job", resource=JOBS))
    assert graph.put(item("child", "job")) == []
    assert graph.put(item("child", "job")) == []


def test_when_an_owner_goes_its_children_are_looked_at() -> None:
    graph = OwnerGraph()
    graph.put(item("job"))
    graph.put(item("one", "job"))
    graph.put(item("two", "job"))
    assert graph.remove("job") == ["one", "two"]
    assert graph.is_absent("ns", "job")
    assert graph.remove("job") == []


def test_an_owner_in_foreground_deletion_has_its_children_looked_at_and_waits_for_the_blocking_ones() -> None:
    graph = OwnerGraph()
    graph.put(item("job"))
    graph.put(item("one", "job"))
    graph.put(item("two", "job", blocks=False))
    look = graph.put(item("job", terminating=True, finalizers=("foregroundDeletion",)))
    assert look == ["job", "one", "two"]
    assert [one.uid for one in graph.blocking("job")] == ["one"]
    assert graph.remove("one") == ["job"]
    assert graph.blocking("job") == []


def test_a_child_that_drops_its_reference_frees_its_waiting_owner() -> None:
    graph = OwnerGraph()
    graph.put(item("job", terminating=True, finalizers=("foregroundDeletion",)))
    assert graph.put(item("one", "job")) == ["one"]
    assert graph.put(item("one")) == ["job"]
    assert graph.dependents("job") == []


def test_an_owner_that_orphans_is_looked_at() -> None:
    graph = OwnerGraph()
    graph.put(item("job"))
    look = graph.put(item("job", terminating=True, finalizers=("orphan",)))
    assert look == ["job"]
    known = graph.get("job")
    assert known is not None and known.orphaning and not known.foreground


def test_finalizers_mean_nothing_before_the_deletion() -> None:
    known = item("job", finalizers=("foregroundDeletion", "orphan"))
    assert not known.foreground and not known.orphaning


def test_whole_objects_and_views_tell_the_same() -> None:
    view = PartialObject(
        metadata=Meta(
            name="c",
            namespace="ns",
            uid="c",
            owner_references=(OwnerReference("batch/v1", "Job", "j", "j", block_owner_deletion=True),),
        )
    )
    raw = {
        "metadata": {
            "name": "c",
            "namespace": "ns",
            "uid": "c",
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "blockOwnerDeletion": True}
            ],
        }
    }
    assert read_view(CONFIGMAPS.raw(), view) == read_object(CONFIGMAPS.raw(), raw)


def test_absent_owners_are_remembered_within_bounds() -> None:
    graph = OwnerGraph()
    for number in range(600):
        graph.note_absent("ns", str(number))
    assert not graph.is_absent("ns", "0") and graph.is_absent("ns", "599")
