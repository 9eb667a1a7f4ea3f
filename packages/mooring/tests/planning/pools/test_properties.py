"""What must hold for every pool the planner could ever see."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.model.pool import Pool
from mooring.model.worker import Stamp, Worker
from mooring.planning.pools.plan import plan_pool
from mooring.planning.pools.snapshot import InFlight, PoolSnapshot
from packages.mooring.tests.planning.fleets import HASH, NOW, classified, created, node, pool, retired, snapshot, worker

NODES = {"up": node("up"), "cordoned": node("cordoned", unschedulable=True), "down": node("down", ready=False)}


@st.composite
def workers(draw: st.DrawFn, slot: int) -> Worker:
    ready = draw(st.booleans())
    seconds = draw(st.integers(0, 2_000))
    stamp = Stamp("acme", f"claim-{slot}", 1, NOW) if draw(st.booleans()) else None
    return worker(
        slot,
        node=draw(st.sampled_from(["up", "cordoned", "down", "gone", ""])),
        ready=ready,
        ready_since=NOW - timedelta(seconds=seconds) if ready else None,
        phase=draw(st.sampled_from(["Pending", "Running", "Running", "Failed", "Succeeded"])),
        spec_hash=draw(st.sampled_from([HASH, HASH, "old"])),
        stamp=stamp,
        terminating_since=draw(st.sampled_from([None, None, None, NOW])),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> PoolSnapshot:
    most = draw(st.integers(0, 12))
    of: Pool = pool(warm=draw(st.integers(0, most)), max=most)
    slots = draw(st.lists(st.integers(0, 15), unique=True, max_size=12))
    fleet = [draw(workers(slot)) for slot in slots]
    unseen = draw(st.frozensets(st.integers(0, 11), max_size=4))
    return snapshot(
        of,
        *fleet,
        nodes=NODES,
        queued=draw(st.integers(0, 4)),
        in_flight=InFlight(creating=frozenset(f"linux-{slot}" for slot in unseen)),
    )


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots())
def test_alive_terminating_and_in_flight_workers_never_exceed_max_by_a_create(of: PoolSnapshot):
    plan = plan_pool(of)
    unseen = of.in_flight.creating - {w.name for w in of.workers}
    before = len(of.workers) + len(unseen)
    if plan.creates:
        assert before + len(plan.creates) <= of.pool.spec.max


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots())
def test_a_stamped_worker_is_never_retired(of: PoolSnapshot):
    held = {w.name for w in of.workers if w.stamp}
    assert held.isdisjoint(retired(plan_pool(of)))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(snapshots())
def test_no_name_in_use_is_created_and_nothing_is_both_made_and_retired(of: PoolSnapshot):
    plan = plan_pool(of)
    used = {w.name for w in of.workers} | of.in_flight.creating
    assert used.isdisjoint(created(plan))
    assert len(set(created(plan))) == len(created(plan))
    assert len(set(retired(plan))) == len(retired(plan))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(snapshots())
def test_planning_again_after_everything_was_carried_out_settles(of: PoolSnapshot):
    """Carry plans out perfectly, again and again: soon nothing is left to do, and the floor holds if max allows."""
    nodes = {name: n for name, n in NODES.items() if name != "down"}
    fleet = tuple(w for w in of.workers if w.node in nodes and not w.terminating_since)
    current = classified(replace(of, workers=fleet, nodes=nodes, in_flight=InFlight()))
    for _ in range(60):
        plan = plan_pool(current)
        if not plan.creates and not plan.retires:
            break
        gone = {act.worker.uid for act in plan.retires}
        kept = [w for w in current.workers if w.uid not in gone]
        made = [worker(int(act.name.rpartition("-")[2]), node="up", ready_since=current.now) for act in plan.creates]
        later = current.now + timedelta(seconds=10)
        current = classified(replace(current, workers=tuple(kept + made), now=later))
    else:
        raise AssertionError("the plan never settles")
    assert len(current.workers) <= max(of.pool.spec.max, len(fleet))
    status = plan_pool(current).status
    room = of.pool.spec.max - len(current.workers)
    assert status.idle + status.starting >= of.pool.spec.warm or room <= 0


def test_ten_thousand_workers_are_planned_in_linear_time():
    """Counts work, not seconds: each worker is classified once."""
    calls = 0
    fleet = tuple(worker(n) for n in range(10_000))
    of = snapshot(pool(warm=10_000, max=10_000), *fleet)

    class CountingNodes(dict):
        def get(self, *args: object) -> object:
            nonlocal calls
            calls += 1
            return super().get(*args)

    plan_pool(classified(replace(of, nodes=CountingNodes(of.nodes))))
    assert calls <= 2 * len(fleet)
