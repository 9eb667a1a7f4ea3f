"""Who is shielded and until when, decided from a table of what pods carry and what the ledger says."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.model.claim import Hold
from mooring.model.worker import MARKED, UNMARKED, Marks, Worker
from mooring.planning.invariants.protection import (
    BUSY_IS_PROTECTED,
    PROTECTION_BOUNDED,
    ProtectionPlan,
    ProtectionSnapshot,
    plan_protection,
)
from mooring.planning.rails import apply_rails
from packages.mooring.tests.planning.fleets import NOW, worker

CEILING = 3600


def hold(slot: int, held_seconds: float = 60, ceiling: float = CEILING, claim: str = "") -> Hold:
    since = NOW - timedelta(seconds=held_seconds)
    return Hold(f"uid-{slot}", claim or f"claim-{slot}", 7, "acme", since, since + timedelta(seconds=ceiling))


def plan(*workers: Worker, holds: tuple[Hold, ...] = ()) -> ProtectionPlan:
    return plan_protection(ProtectionSnapshot(NOW, workers, holds))


def raised(of: ProtectionPlan) -> list[str]:
    return [act.worker.name for act in of.protects]


def lowered(of: ProtectionPlan) -> list[tuple[str, str]]:
    return [(act.worker.name, act.invariant) for act in of.unprotects if act.due]


def test_where_shields_and_claims_agree_nothing_is_done():
    of = plan(worker(0, marks=MARKED), worker(1), holds=(hold(0),))
    assert of == ProtectionPlan((), (), ())


@pytest.mark.parametrize(
    "marks", [UNMARKED, Marks(True, False, True), Marks(True, True, False), Marks(False, True, True)]
)
def test_a_working_pod_with_incomplete_marks_gets_them(marks):
    of = plan(worker(0, marks=marks), holds=(hold(0),))
    assert raised(of) == ["linux-0"] and not of.unprotects


def test_a_claim_of_this_moment_brings_its_own_shield():
    assert not plan(worker(0), holds=(hold(0, held_seconds=1.9),)).protects
    assert raised(plan(worker(0), holds=(hold(0, held_seconds=2),))) == ["linux-0"]


@pytest.mark.parametrize("marks", [MARKED, Marks(True, False, False), Marks(False, False, True)])
def test_marks_without_a_claim_are_removed_also_without_a_stamp(marks):
    of = plan(worker(0, marks=marks))
    assert lowered(of) == [("linux-0", BUSY_IS_PROTECTED)] and not of.protects


@pytest.mark.parametrize("ending", [{"terminating_since": NOW}, {"phase": "Failed"}, {"phase": "Succeeded"}])
def test_pods_that_are_ending_are_left_alone(ending):
    assert plan(worker(0, **ending), worker(1, marks=MARKED, **ending), holds=(hold(0),)) == ProtectionPlan((), (), ())


def test_at_the_ceiling_the_shield_goes_though_the_claim_lives_on_and_it_does_not_come_back():
    late = hold(0, held_seconds=CEILING)
    assert lowered(plan(worker(0, marks=MARKED), holds=(late,))) == [("linux-0", PROTECTION_BOUNDED)]
    after = plan(worker(0), holds=(late,))
    assert not after.protects and not after.unprotects and after.ends[0].passed


def test_a_worker_is_protected_until_the_latest_end_of_its_claims():
    late, fresh = hold(0, held_seconds=CEILING), hold(0, held_seconds=60, claim="other")
    assert plan(worker(0, marks=MARKED), holds=(late, fresh)) == ProtectionPlan((), (), ())
    assert raised(plan(worker(0), holds=(fresh, late))) == ["linux-0"]


def test_from_four_fifths_of_the_way_the_end_is_announced():
    assert not plan(worker(0, marks=MARKED), holds=(hold(0, held_seconds=CEILING * 0.8 - 1),)).ends
    of = plan(worker(0, marks=MARKED), holds=(hold(0, held_seconds=CEILING * 0.8),))
    assert [(end.hold.claim, end.passed) for end in of.ends] == [("claim-0", False)]
    assert "acme" in of.ends[0].message and "12:12:00Z" in of.ends[0].message
    assert not lowered(of)


def test_the_two_ticks_of_a_ceiling_are_over_when_it_is_reached():
    before = plan(worker(0, marks=MARKED), holds=(hold(0, held_seconds=CEILING - 2),))
    held = apply_rails(before.unprotects, {}, NOW)
    assert not held.allowed
    at = plan(worker(0, marks=MARKED), holds=(hold(0, held_seconds=CEILING),))
    assert apply_rails(at.unprotects, held.sightings, NOW + timedelta(seconds=2)).allowed == at.unprotects


marks_drawn = st.sampled_from([MARKED, UNMARKED, Marks(True, False, False)])
spans = st.integers(0, 2 * CEILING)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(marks_drawn, st.lists(spans, max_size=3)), max_size=8))
def test_carried_out_once_a_plan_leaves_nothing_to_do_and_no_working_pod_bare(fleet):
    workers = tuple(worker(slot, marks=marks) for slot, (marks, _) in enumerate(fleet))
    holds = tuple(
        hold(slot, held_seconds=span, claim=f"{slot}-{n}")
        for slot, (_, held) in enumerate(fleet)
        for n, span in enumerate(held)
    )
    of = plan(*workers, holds=holds)
    up = {act.worker.uid for act in of.protects}
    down = {act.worker.uid for act in of.unprotects if act.due}
    assert not up & down
    after = tuple(replace(w, marks=MARKED if w.uid in up else UNMARKED if w.uid in down else w.marks) for w in workers)
    again = plan(*after, holds=holds)
    assert not again.protects and not [act for act in again.unprotects if act.due]
    for slot, (_, held) in enumerate(fleet):
        within = [span for span in held if span < CEILING]
        if within and min(held) >= 2:
            assert after[slot].marks.complete
        if not within and not (held and min(held) < 2):
            assert after[slot].marks.absent


def test_ten_thousand_workers_that_are_as_they_should_be_need_nothing():
    workers = [worker(n, marks=MARKED if n < 3000 else UNMARKED) for n in range(10_000)]
    assert plan(*workers, holds=tuple(hold(n) for n in range(3000))) == ProtectionPlan((), (), ())
