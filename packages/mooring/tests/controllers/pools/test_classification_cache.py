"""What is remembered of a classification never changes its answer."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.controllers.pools.roster import Roster
from mooring.model.health import WorkerHealth
from mooring.model.worker import Worker, WorkerState
from packages.mooring.tests.planning.fleets import NOW, node, stamped, worker

NODES = {"node-1": node()}
CORDONED = {"node-1": node(unschedulable=True)}


def states(roster: Roster, *workers: Worker, nodes=NODES, held=None) -> list[WorkerState]:
    return [item.state for item in roster.classify(workers, nodes, held or {}, {})]


def test_a_change_of_the_worker_its_node_or_its_claims_is_seen():
    roster = Roster()
    idle = worker(1)
    assert states(roster, idle) == [WorkerState.IDLE]
    assert states(roster, idle, held={"uid-1": 1}) == [WorkerState.BUSY]
    assert states(roster, idle) == [WorkerState.IDLE]
    assert states(roster, idle, nodes=CORDONED) == [WorkerState.DRAINING]
    assert states(roster, idle, nodes={}) == [WorkerState.LOST]
    assert states(roster, stamped(1)) == [WorkerState.CLAIMED]
    assert states(roster, replace(idle, terminating_since=NOW)) == [WorkerState.DRAINING]


def test_what_did_not_change_is_not_classified_again():
    roster = Roster()
    fleet = (worker(1), worker(2))
    first = roster.classify(fleet, NODES, {}, {})
    again = roster.classify((*fleet, worker(3)), NODES, {"uid-2": 1}, {})
    assert again[0] is first[0]
    assert again[1] is not first[1]
    assert len(again) == 3


def test_a_worker_that_leaves_does_not_make_the_others_be_classified_again():
    roster = Roster()
    first, second, third = worker(1), worker(2), worker(3)
    before = roster.classify((first, second, third), NODES, {}, {})
    again = roster.classify((first, third, worker(4)), NODES, {}, {})
    assert again[0] is before[0]
    assert again[1] is before[2]
    assert [item.worker.name for item in again] == ["linux-1", "linux-3", "linux-4"]


def test_workers_in_another_order_get_the_same_answers():
    roster = Roster()
    workers = tuple(worker(slot) for slot in range(4))
    for fleet in (workers, workers[::-1], workers[1:], (*workers[2:], *workers[:2])):
        held = {"uid-2": 1}
        assert roster.classify(fleet, NODES, held, {}) == Roster().classify(fleet, NODES, held, {})


def test_a_change_of_failed_checks_is_seen():
    roster, fleet = Roster(), (worker(1), worker(2))
    failed = {"uid-1": WorkerHealth(failures=3, limit=3)}
    states = [roster.classify(fleet, NODES, {}, unhealthy)[0].state for unhealthy in ({}, failed, {})]
    assert states == [WorkerState.IDLE, WorkerState.LOST, WorkerState.IDLE]


def test_a_worker_that_left_is_forgotten():
    roster = Roster()
    states(roster, worker(1), worker(2))
    assert states(roster, worker(2)) == [WorkerState.IDLE]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), st.integers(0, 2)), max_size=20))
def test_a_roster_with_a_past_answers_like_a_new_one(looks: list[tuple[int, bool, bool, int]]):
    roster = Roster()
    for slot, ready, drains, live in looks:
        fleet = (worker(slot, ready=ready), worker(9))
        nodes, held = CORDONED if drains else NODES, {f"uid-{slot}": live}
        assert roster.classify(fleet, nodes, held, {}) == Roster().classify(fleet, nodes, held, {})
