"""No state of a worker is told without since when, and one that drains tells what it waits for."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.model.claim import ClaimState
from mooring.model.worker import Stamp
from mooring.planning.workers import classify_held, classify_worker
from packages.mooring.tests.planning.fleets import NOW, claim, node, stamped, starting, terminating, worker

AN_HOUR_AGO = NOW - timedelta(hours=1)
A_MINUTE_AGO = NOW - timedelta(minutes=1)
SOON = NOW + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("of", "at", "code", "since"),
    [
        (worker(0), node(unschedulable=True, draining_since=A_MINUTE_AGO), "node_draining", A_MINUTE_AGO),
        (worker(0, phase="Failed", finished_at=A_MINUTE_AGO), node(), "pod_failed", A_MINUTE_AGO),
        (worker(0, phase="Succeeded", finished_at=A_MINUTE_AGO), node(), "pod_finished", A_MINUTE_AGO),
        (worker(0, phase="Failed", unready_since=A_MINUTE_AGO), node(), "pod_failed", A_MINUTE_AGO),
        (worker(0, node="gone"), node(), "node_gone", AN_HOUR_AGO),
        (starting(0, node="node-1"), node(ready=False), "node_not_ready", starting(0).created_at),
        (worker(0, stamp=Stamp("acme", "c", 1, None)), node(), "stamped", worker(0).ready_since),
    ],
)
def test_every_state_says_since_when(of, at, code, since):
    item = classify_worker(of, {"node-1": at}, node_gone_since=AN_HOUR_AGO)
    assert (item.why.code, item.why.since) == (code, since)


def test_a_worker_that_drains_with_its_node_lists_the_sessions_it_waits_for():
    at = node(unschedulable=True, draining_since=A_MINUTE_AGO)
    other = claim("c2", owner="globex", state=ClaimState.CLAIMED, protected_until=None)
    why = classify_worker(stamped(0), {"node-1": at}, [claim(), other]).why
    assert why.message == "the node is cordoned (node-1), finishing 2 session(s)"
    assert why.blockers == (
        "claim/c1 of acme, running since 2026-03-01 11:59:00Z, protected until 2026-03-01 12:05:00Z",
        "claim/c2 of globex, claimed since 2026-03-01 11:58:00Z, not protected",
    )
    assert why.next_check == SOON
    assert why.fix == "mooring drain-check node-1"


def test_a_worker_that_terminates_lists_its_sessions_and_its_finalizers():
    of = terminating(0, finalizers=("example.com/hold",), deletion_due=SOON)
    why = classify_worker(of, {"node-1": node()}, [claim()]).why
    assert [blocker.split(",")[0] for blocker in why.blockers] == ["claim/c1 of acme", "finalizer example.com/hold"]
    assert why.next_check == SOON


def test_a_worker_whose_claims_cannot_be_read_waits_for_whom_it_is_stamped_for():
    why = classify_worker(stamped(0), {"node-1": node(unschedulable=True)}).why
    assert why.blockers == ("claim/claim-0 of acme, stamped since 2026-03-01 11:59:00Z",)


def test_an_idle_worker_that_drains_waits_for_nobody():
    assert classify_worker(worker(0), {"node-1": node(unschedulable=True)}).why.blockers == ()


@settings(max_examples=200, deadline=None)
@given(
    ready=st.booleans(),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    status=st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(
                ["ready_since", "unready_since", "finished_at", "unschedulable_since"], st.just(A_MINUTE_AGO)
            ),
            **dict.fromkeys(["waiting", "unschedulable"], st.just("because")),
        },
    ),
    where=st.sampled_from(["", "node-1", "gone"]),
    at=st.sampled_from([node(), node(ready=False), node(unschedulable=True), node(terminating=True)]),
    held=st.integers(0, 2),
    ends=st.booleans(),
)
def test_no_state_is_without_a_reason_and_since(ready, phase, status, where, at, held, ends):
    of = worker(
        0,
        ready=ready,
        phase=phase,
        node=where,
        terminating_since=NOW if ends else None,
        **{"ready_since": None, **status},
    )
    claims = [claim(f"c{number}") for number in range(held)]
    for item in (
        classify_worker(of, {"node-1": at}, claims),
        classify_held(of, at if where == "node-1" else None, held),
    ):
        assert item.why.code and item.why.message and item.why.since is not None
