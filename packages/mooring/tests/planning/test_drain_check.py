"""What would become of every session on a node, by table."""

from datetime import timedelta

import pytest

from mooring.model.node import DrainBound
from mooring.model.worker import MARKED, Stamp
from mooring.planning.drain_check import DrainSnapshot, DrainVerdict, Fate, plan_drain_check
from mooring.planning.workers import classify_worker
from packages.mooring.tests.planning import fleets
from packages.mooring.tests.planning.fleets import NOW, node, pool, terminating, worker

LATER = NOW + timedelta(minutes=40)
STAMP = Stamp("acme", "claim-0", 7, NOW)


def busy(**changes):
    return worker(0, **{"stamp": STAMP, "marks": MARKED, **changes})


def ran(seconds, **changes):
    started = NOW - timedelta(seconds=seconds)
    return fleets.claim(
        "claim-0", **{"running_at": started, "created_at": started, "protected_until": LATER, **changes}
    )


def check(*workers, claims=(), at=None, known=True, spec=None, **changes):
    at = at or node()
    by_pod: dict[str, tuple] = {}
    for claim in claims:
        by_pod[claim.pod_uid] = (*by_pod.get(claim.pod_uid, ()), claim)
    items = tuple(classify_worker(of, {at.name: at}, by_pod.get(of.uid, ())) for of in workers)
    pools = {"runners/linux": pool(**(spec or {}))}
    return plan_drain_check(DrainSnapshot(NOW, at, items, by_pod if known else None, pools, **changes))


def test_a_node_with_idle_workers_can_go_and_they_are_replaced():
    answer = check(worker(0), worker(1))
    assert answer.verdict is DrainVerdict.SAFE and answer.held_until is None
    assert [item.name for item in answer.idle] == ["linux-0", "linux-1"]
    assert "replaced" in answer.idle[0].would_be and "kubectl drain node-1" in answer.fix


def test_a_protected_session_makes_the_drain_wait_until_its_ceiling():
    answer = check(busy(), claims=[ran(90)])
    (claim,) = answer.claims
    assert (claim.would_be, claim.running_seconds, claim.protected_until) == (Fate.WAITS, 90, LATER)
    assert answer.verdict is DrainVerdict.WAITS and answer.held_until == LATER
    assert "12:40:00Z at the latest" in answer.message
    assert (answer.suddenly.lost, answer.suddenly.rebound) == (1, 0)


@pytest.mark.parametrize("retryable", [True, False])
@pytest.mark.parametrize(
    ("of", "seconds", "at", "spec", "ends_well"),
    [
        (busy(), 300, None, {"protection": {"budget": False, "graceSeconds": 600}}, True),
        (busy(), 900, None, {"protection": {"budget": False, "graceSeconds": 600}}, False),
        (worker(0, stamp=STAMP), 900, None, {}, False),  # its protection has ended: the ceiling is over
        (busy(), 5, node(ready=False), {}, False),
        (busy(phase="Failed"), 5, None, {}, False),
        (terminating(0, stamp=STAMP, deletion_due=NOW + timedelta(seconds=60)), 30, None, {}, True),
        (terminating(0, stamp=STAMP, deletion_due=NOW + timedelta(seconds=60)), 90, None, {}, False),
    ],
)
def test_an_unprotected_session_finishes_in_its_grace_or_is_lost(of, seconds, at, spec, ends_well, retryable):
    answer = check(of, claims=[ran(seconds, retryable=retryable)], at=at, spec=spec)
    otherwise = Fate.REBOUND if retryable else Fate.LOST
    assert answer.claims[0].would_be is (Fate.FINISHES if ends_well else otherwise)
    assert answer.claims[0].because
    if not ends_well and not retryable:
        assert answer.verdict is DrainVerdict.LOSES and "cordon" in answer.fix
    elif not ends_well:
        assert answer.verdict is DrainVerdict.SAFE


def test_past_its_ceiling_a_session_is_not_waited_for():
    answer = check(busy(), claims=[ran(7200, protected_until=NOW - timedelta(seconds=1))])
    assert answer.claims[0].would_be is Fate.LOST and "not protected any more" in answer.claims[0].because


def test_without_the_ledger_nothing_is_called_safe():
    answer = check(busy(), known=False)
    assert answer.verdict is DrainVerdict.UNKNOWN and "cannot be read" in answer.message


def test_who_waits_for_the_pools_of_the_node_is_told_with_what_is_idle_elsewhere():
    counts = {"waiting": {"runners/linux": 3, "other/pool": 9}, "idle_elsewhere": {"runners/linux": 2}}
    (queue,) = check(worker(0), **counts).queues
    assert (queue.pool, queue.waiting, queue.idle_elsewhere) == ("runners/linux", 3, 2)


def test_a_node_that_drains_already_says_so():
    assert check(at=node(unschedulable=True)).draining == "the node is cordoned"


def test_an_adopted_worker_that_may_run_a_session_makes_the_answer_unknown():
    answer = check(worker(0), worker(1, unproven_since=NOW))
    assert answer.verdict is DrainVerdict.UNKNOWN and "linux-1" in answer.message and "linux-0" not in answer.message


@pytest.mark.parametrize(
    ("bound", "since", "seconds", "fate", "held_until"),
    [
        (None, None, 90, Fate.WAITS, LATER),  # Karpenter waits for ever, the ceiling ends the protection
        (3600, None, 90, Fate.WAITS, LATER),
        (600, None, 90, Fate.WAITS, NOW + timedelta(seconds=600)),
        (600, None, 900, Fate.LOST, None),
        (600, NOW - timedelta(seconds=500), 90, Fate.WAITS, NOW + timedelta(seconds=100)),
        (600, NOW - timedelta(seconds=500), 120, Fate.LOST, None),
        (600, NOW - timedelta(seconds=700), 5, Fate.LOST, None),
    ],
)
def test_the_nodes_own_node_claim_ends_the_wait_for_a_protected_session(bound, since, seconds, fate, held_until):
    at = node(drain_bound=DrainBound("work-x7", bound, since), claim_terminating=since is not None)
    answer = check(busy(), claims=[ran(seconds)], at=at)
    assert (answer.claims[0].would_be, answer.held_until) == (fate, held_until)
    assert ("NodeClaim work-x7" in answer.claims[0].because) is (held_until != LATER)


def test_the_bound_counts_from_the_deletion_of_the_node_claim_and_not_from_an_earlier_cordon():
    at = node(drain_bound=DrainBound("work-x7", 600), unschedulable=True, draining_since=NOW - timedelta(hours=1))
    assert check(busy(), claims=[ran(90)], at=at).held_until == NOW + timedelta(seconds=600)


def test_a_worker_that_is_stamped_without_a_live_claim_makes_the_answer_unknown():
    answer = check(worker(0), worker(1, stamp=STAMP))
    assert answer.verdict is DrainVerdict.UNKNOWN and "linux-1" in answer.message and "linux-0" not in answer.message
    assert answer.fix.startswith("mooring workers --node node-1 -o wide")
