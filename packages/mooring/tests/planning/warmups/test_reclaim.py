"""The removal of a deleted Warmup's data: each folder is removed, gone or given up, and then the finalizer goes."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.warm_data import SETTLED, DataCopy, is_data_folder
from mooring.model.warmup import ShardStatus, Warmup, WarmupStatus
from mooring.planning.warmups.reclaim import (
    PATIENCE,
    CleanupJob,
    ReclaimSnapshot,
    find_sharing,
    name_of,
    plan_reclaim,
    record_copies,
)
from packages.mooring.tests.planning.warmups.datasets import NOW, dataset, job, nodes

FLEET = nodes(3)
COPIES = tuple(DataCopy("/mnt/nt", node.name, node.uid) for node in FLEET.values())


def deleted(*copies: DataCopy) -> Warmup:
    warmup = dataset(reclaim="Delete", localPath="/mnt/nt")
    return msgspec.structs.replace(
        warmup, terminating=True, terminating_since=NOW, status=WarmupStatus(copies=copies or COPIES)
    )


def snapshot(warmup: Warmup, **changes: object) -> ReclaimSnapshot:
    return replace(ReclaimSnapshot(NOW, warmup, FLEET), **changes)  # type: ignore[arg-type]


def states(found: ReclaimSnapshot) -> dict[str, str]:
    return {copy.node: copy.state for copy in plan_reclaim(found).status.copies}


def test_every_live_node_gets_one_cleanup_job():
    plan = plan_reclaim(snapshot(deleted()))
    assert [create.copy.node for create in plan.creates] == ["node-0", "node-1", "node-2"]
    assert len({create.name for create in plan.creates}) == 3 and not plan.release


def test_warm_jobs_are_stopped_before_anything_is_removed():
    warmup = deleted()
    plan = plan_reclaim(snapshot(warmup, jobs=(job(warmup, 0, FLEET["node-0"]),)))
    assert [stop.name for stop in plan.stops] == ["warm-nt-00"] and plan.creates == ()
    assert plan_reclaim(snapshot(warmup, writers={"node-1"})).creates[-1].copy.node == "node-2"


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"gone": {"node-0-uid"}}, "gone"),
        ({"nodes": {}}, "waiting"),
        ({"nodes": nodes(3, ready=False)}, "waiting"),
        ({"held_because": "paused"}, "waiting"),
        ({"shared": {"/mnt/nt": "bio/other"}}, "left"),
        ({"hopeless": "no Job can be made"}, "left"),
        ({"now": NOW + PATIENCE}, "left"),
        ({"cleanups": {name_of(deleted(), COPIES[0]): CleanupJob("x", "u", complete=True)}}, "removed"),
        ({"cleanups": {name_of(deleted(), COPIES[0]): CleanupJob("x", "u", failed=True)}}, "left"),
        ({"cleanups": {name_of(deleted(), COPIES[0]): CleanupJob("x", "u")}}, "removing"),
    ],
)
def test_a_folder_has_the_state_of_its_node_and_of_its_job(changes, state):
    found = snapshot(deleted(), **changes)
    assert states(found)["node-0"] == state
    assert all(create.copy.state == "removing" for create in plan_reclaim(found).creates)


@given(
    st.lists(
        st.sampled_from(["ready", "silent", "absent", "gone", "done", "failed", "running"]), min_size=3, max_size=3
    ),
    st.booleans(),
    st.booleans(),
)
def test_the_finalizer_is_released_at_the_deadline_whatever_happens(fates, busy, held):
    warmup = deleted()
    fleet = {
        node.name: replace(node, ready=fate != "silent")
        for node, fate in zip(FLEET.values(), fates, strict=True)
        if fate not in ("absent", "gone")
    }
    cleanups = {
        name_of(warmup, copy): CleanupJob("x", "u", complete=fate == "done", failed=fate == "failed")
        for copy, fate in zip(COPIES, fates, strict=True)
        if fate in ("done", "failed", "running")
    }
    gone = {copy.node_uid for copy, fate in zip(COPIES, fates, strict=True) if fate == "gone"}
    late = ReclaimSnapshot(
        NOW + PATIENCE,
        warmup,
        fleet,
        gone,
        jobs=(job(warmup, 0, FLEET["node-0"]),) if busy else (),
        cleanups=cleanups,
        held_because="paused" if held else "",
    )
    plan = plan_reclaim(late)
    assert plan.release and all(copy.state in SETTLED for copy in plan.status.copies)
    after = msgspec.structs.replace(warmup, status=plan.status)
    again = plan_reclaim(replace(late, warmup=after, now=NOW + PATIENCE + timedelta(seconds=9)))
    assert again.status.copies == plan.status.copies, "what is settled stays so"
    for copy in plan.status.copies:
        assert copy.state != "left" or (copy.node in plan.report and copy.why)


def test_copies_are_known_before_their_job_and_forgotten_with_their_node():
    warmup = dataset(localPath="/mnt/nt/")
    shards = [ShardStatus(0, "node-0", "node-0-uid", warm_node="node-1", warm_node_uid="node-1-uid")]
    found = record_copies(warmup, shards, FLEET)
    assert [(copy.path, copy.node) for copy in found] == [("/mnt/nt", "node-0"), ("/mnt/nt", "node-1")]
    later = msgspec.structs.replace(warmup, status=WarmupStatus(copies=found))
    assert record_copies(later, [], {}) == found, "an empty list of nodes proves nothing"
    assert record_copies(later, [], {"node-0": FLEET["node-0"]}) == found[:1]


@pytest.mark.parametrize(
    ("other", "shares"),
    [
        ("/mnt/nt", True),
        ("/mnt/nt/.mooring/x", True),
        ("/mnt/nt/00", True),
        ("/mnt/nt2", False),
        ("/mnt/nt/nr", False),
        ("/mnt", False),
    ],
)
def test_a_folder_is_shared_where_the_cleanup_would_reach_the_other(other, shares):
    assert bool(find_sharing("/mnt/nt", {"bio/other": {other}})) is shares


@pytest.mark.parametrize("path", ["/", "//", "/.", "/./.", "/mnt/..", "mnt", "", "/a:b"])
def test_a_path_that_is_no_folder_of_its_own_is_refused_and_never_cleaned(path):
    assert not is_data_folder(path)
    plan = plan_reclaim(snapshot(deleted(DataCopy(path, "node-0", "node-0-uid"))))
    assert plan.creates == () and plan.status.copies[0].state == "left"
