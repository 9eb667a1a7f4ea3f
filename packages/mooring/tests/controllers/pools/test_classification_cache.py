"""What is remembered of a classification never changes its answer."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.controllers.pools.classification_cache import ClassificationCache
from mooring.model.health import WorkerHealth
from mooring.model.worker import Worker, WorkerState
from packages.mooring.tests.planning.fleets import NOW, node, stamped, worker

NODES = {"node-1": node()}
CORDONED = {"node-1": node(unschedulable=True)}


def states(cache: ClassificationCache, *workers: Worker, nodes=NODES, held=None) -> list[WorkerState]:
    return [item.state for item in cache.classify(workers, nodes, held or {}, {})]


def test_a_change_of_the_worker_its_node_or_its_claims_is_seen():
    cache = ClassificationCache()
    idle = worker(1)
    assert states(cache, idle) == [WorkerState.IDLE]
    assert states(cache, idle, held={"uid-1": 1}) == [WorkerState.BUSY]
    assert states(cache, idle) == [WorkerState.IDLE]
    assert states(cache, idle, nodes=CORDONED) == [WorkerState.DRAINING]
    assert states(cache, idle, nodes={}) == [WorkerState.LOST]
    assert states(cache, stamped(1)) == [WorkerState.CLAIMED]
    assert states(cache, replace(idle, terminating_since=NOW)) == [WorkerState.DRAINING]


def test_what_did_not_change_is_not_classified_again():
    cache = ClassificationCache()
    fleet = (worker(1), worker(2))
    first = cache.classify(fleet, NODES, {}, {})
    again = cache.classify((*fleet, worker(3)), NODES, {"uid-2": 1}, {})
    assert again[0] is first[0]
    assert again[1] is not first[1]
    assert len(again) == 3


def test_a_worker_that_leaves_does_not_make_the_others_be_classified_again():
    cache = ClassificationCache()
    first, second, third = worker(1), worker(2), worker(3)
    before = cache.classify((first, second, third), NODES, {}, {})
    again = cache.classify((first, third, worker(4)), NODES, {}, {})
    assert again[0] is before[0]
    assert again[1] is before[2]
    assert [item.worker.name for item in again] == ["linux-1", "linux-3", "linux-4"]


def test_workers_in_another_order_get_the_same_answers():
    cache = ClassificationCache()
    workers = tuple(worker(slot) for slot in range(4))
    for fleet in (workers, workers[::-1], workers[1:], (*workers[2:], *workers[:2])):
        held = {"uid-2": 1}
        assert cache.classify(fleet, NODES, held, {}) == ClassificationCache().classify(fleet, NODES, held, {})


def test_a_change_of_failed_checks_is_seen():
    cache, fleet = ClassificationCache(), (worker(1), worker(2))
    failed = {"uid-1": WorkerHealth(failures=3, limit=3)}
    states = [cache.classify(fleet, NODES, {}, unhealthy)[0].state for unhealthy in ({}, failed, {})]
    assert states == [WorkerState.IDLE, WorkerState.LOST, WorkerState.IDLE]


def test_a_worker_that_left_is_forgotten():
    cache = ClassificationCache()
    states(cache, worker(1), worker(2))
    assert states(cache, worker(2)) == [WorkerState.IDLE]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), st.integers(0, 2)), max_size=20))
def test_a_cache_with_a_past_answers_like_a_new_one(looks: list[tuple[int, bool, bool, int]]):
    cache = ClassificationCache()
    for slot, ready, drains, live in looks:
        fleet = (worker(slot, ready=ready), worker(9))
        nodes, held = CORDONED if drains else NODES, {f"uid-{slot}": live}
        assert cache.classify(fleet, nodes, held, {}) == ClassificationCache().classify(fleet, nodes, held, {})
