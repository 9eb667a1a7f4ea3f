"""Placeholder pods: as many as are wanted, none where none is needed, never more than `max` leaves room for."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mooring.model.demand import Demand
from mooring.model.headroom import Headroom, Placeholder, check_headroom
from mooring.planning.demand.headroom import KEPT_SECONDS, HeadroomSnapshot, plan_headroom
from mooring.planning.rails import apply_rails
from packages.mooring.tests.planning.demand.test_plan import OUTLOOK

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ASKED = Demand(headroom=Headroom(workers=3))


def placeholder(slot: int, **changes: object) -> Placeholder:
    name = f"linux-headroom-{slot}"
    base = Placeholder("runners", name, f"uid-{slot}", "7", "pool", NOW - timedelta(hours=1), "hash", "node-1")
    return replace(base, **changes)  # type: ignore[arg-type]


def snapshot(*found: Placeholder, demand: Demand | None = ASKED, **changes: object) -> HeadroomSnapshot:
    base = HeadroomSnapshot(NOW, "linux", demand, "hash", found, room=10, outlook=OUTLOOK)
    return replace(base, **changes)  # type: ignore[arg-type]


def test_missing_ones_are_created_under_names_that_are_free() -> None:
    planned = plan_headroom(snapshot(placeholder(1)))
    assert planned.creates == ("linux-headroom-0", "linux-headroom-2")
    assert planned.retires == ()
    assert planned.status is not None
    assert (planned.status.wanted, planned.status.holding, planned.status.waiting) == (3, 1, 0)


@pytest.mark.parametrize(
    ("changes", "wanted", "because"),
    [
        ({"room": 1}, 1, "spec.max leaves room for 1 more worker"),
        ({"room": -2}, 0, "spec.max leaves room for 0 more workers"),
        ({"outlook": replace(OUTLOOK, quiet=True)}, 0, "no claim came for 300s and none is expected"),
        ({"demand": Demand(headroom=Headroom(workers=3), dry_run=True)}, 0, "dry run: no headroom is kept"),
    ],
)
def test_fewer_are_wanted_where_more_would_be_useless(changes: dict[str, object], wanted: int, because: str) -> None:
    found = [placeholder(slot) for slot in range(3)]
    planned = plan_headroom(snapshot(*found, **changes))  # type: ignore[arg-type]
    assert planned.status is not None
    assert (planned.status.wanted, planned.status.because) == (wanted, because)
    assert len(planned.retires) == 3 - wanted
    assert planned.creates == ()


def test_those_that_wait_for_a_node_go_first() -> None:
    found = (placeholder(0, node=""), placeholder(1), placeholder(2))
    planned = plan_headroom(snapshot(*found, room=2))
    assert [one.placeholder.name for one in planned.retires] == ["linux-headroom-0"]


def test_all_go_when_none_are_asked_for() -> None:
    planned = plan_headroom(snapshot(placeholder(0), placeholder(1), demand=None))
    assert len(planned.retires) == 2
    assert planned.status is None
    assert plan_headroom(snapshot(placeholder(0), demand=Demand())).retires


def test_before_anything_is_known_they_stay_as_they_are() -> None:
    planned = plan_headroom(snapshot(placeholder(0), outlook=None))
    assert (planned.creates, planned.retires) == ((), ())


def test_one_that_has_ended_or_holds_other_room_is_replaced() -> None:
    ended, other = placeholder(0, finished=True), placeholder(1, spec_hash="old")
    planned = plan_headroom(snapshot(ended, other, placeholder(2)))
    assert {one.placeholder.name for one in planned.retires} == {ended.name, other.name}
    assert planned.creates == ("linux-headroom-3", "linux-headroom-4")


def test_a_problem_is_said_and_nothing_is_tried_before_its_end() -> None:
    blocked = plan_headroom(snapshot(problem="there is no PriorityClass", blocked=True))
    assert blocked.creates == ()
    assert blocked.status is not None and blocked.status.because == "there is no PriorityClass"
    assert len(plan_headroom(snapshot(problem="there is no PriorityClass")).creates) == 3


def test_a_surplus_passes_the_rails_only_after_its_age_and_two_looks() -> None:
    young = placeholder(0, created_at=NOW - timedelta(seconds=KEPT_SECONDS / 2))
    planned = plan_headroom(snapshot(young, placeholder(1), room=0))
    first = apply_rails(planned.retires, {}, NOW)
    assert first.allowed == ()
    second = apply_rails(planned.retires, first.sightings, NOW + timedelta(seconds=5))
    assert [one.placeholder.name for one in second.allowed] == ["linux-headroom-1"]


@given(
    slots=some.sets(some.integers(0, 8)),
    waiting=some.sets(some.integers(0, 8)),
    going=some.sets(some.integers(0, 8)),
    workers=some.integers(1, 6),
    room=some.integers(-2, 8),
)
def test_there_are_never_more_than_wanted_nor_than_max_leaves_room_for(
    slots: set[int], waiting: set[int], going: set[int], workers: int, room: int
) -> None:
    found = [placeholder(slot, node="" if slot in waiting else "n", terminating=slot in going) for slot in slots]
    planned = plan_headroom(snapshot(*found, demand=Demand(headroom=Headroom(workers=workers)), room=room))
    left = {one.name for one in found if not one.terminating} - {one.placeholder.name for one in planned.retires}
    assert len(left | set(planned.creates)) == max(0, min(workers, room))
    assert not set(planned.creates) & {one.name for one in found}


@pytest.mark.parametrize(
    ("headroom", "field"),
    [
        (Headroom(workers=0), "spec.demand.headroom.workers"),
        (Headroom(workers=11), "spec.demand.headroom.workers"),
        (Headroom(priority_class_name="No Class"), "spec.demand.headroom.priorityClassName"),
        (Headroom(image=""), "spec.demand.headroom.image"),
    ],
)
def test_a_wrong_headroom_names_its_field(headroom: Headroom, field: str) -> None:
    (problem,) = check_headroom(headroom, most=10)
    assert field in str(problem)
    assert check_headroom(Headroom(workers=10), most=10) == []
