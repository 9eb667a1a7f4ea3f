"""The rules between claims and workers, as tables: what is proven, what is only suspected, and what follows."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.health import Check, WorkerHealth
from mooring.model.node import Node
from mooring.model.proof import are_independent
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker
from mooring.planning.invariants.claims import (
    ClaimsSnapshot,
    Remedy,
    plan_claim_alive,
    plan_claim_has_pod,
)
from mooring.planning.invariants.leaks import plan_stamped_has_claim
from packages.mooring.tests.planning.fleets import NOW, node, stamped

TIMEOUTS = Timeouts()
EPOCH = 7  # of the stamps that `stamped` makes


def row(state: ClaimState, **changes: object) -> Claim:
    """The claim behind the stamp of worker 1: bound a minute ago, and never running."""
    base = Claim(
        id="claim-1", namespace="runners", pool="linux", owner="acme", state=state, priority=0, idempotency_key=None,
        request_hash="", epoch=EPOCH, previous_epoch=None, pod_name="linux-1", pod_uid="uid-1", slot=0, address="",
        protected_until=None, ticket=1, retryable=False, rebinds=0, payload=None, delivered_epoch=None, ttl_seconds=60,
        wait_until=None, created_at=ago(60), queued_at=None, claimed_at=ago(60), running_at=None, heartbeat_at=None,
        ended_at=None, reason="",
    )  # fmt: skip
    return replace(base, **changes)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def leaked(behind: Claim | None, worker: Worker | None = None) -> ClaimsSnapshot:
    """One worker that is stamped, and that no live claim holds."""
    return ClaimsSnapshot(
        NOW, (worker or stamped(1),), (), TIMEOUTS, executing={"uid-1": False}, stamped_claims={"claim-1": behind}
    )


NEVER_RAN = row(ClaimState.FAILED)
RAN = row(ClaimState.RELEASED, running_at=ago(50))
RAN_AT_ONCE = row(ClaimState.RELEASED, running_at=ago(60))
RAN_AND_QUEUED_AGAIN = row(ClaimState.QUEUED, epoch=EPOCH + 1, claimed_at=None, running_at=ago(50), rebinds=1)
RAN_AND_RUNS_ELSEWHERE = row(
    ClaimState.RUNNING, epoch=EPOCH + 2, pod_uid="uid-2", claimed_at=ago(9), running_at=ago(8), rebinds=1
)
RAN_AND_BOUND_ELSEWHERE = row(ClaimState.CLAIMED, epoch=EPOCH + 2, claimed_at=ago(9), running_at=ago(50), rebinds=1)
RAN_ELSEWHERE_AND_FAILED_HERE = row(ClaimState.FAILED, claimed_at=ago(60), running_at=ago(500))
MOVED_ON_WITHOUT_RUNNING = row(ClaimState.CLAIMED, epoch=EPOCH + 1, pod_uid="uid-2")
MOVED_ON_AND_RAN_ELSEWHERE = row(ClaimState.RELEASED, epoch=EPOCH + 1, pod_uid="uid-2", running_at=ago(50))
NOT_TAKEN = row(ClaimState.EXPIRED, running_at=ago(50), cause=EndCause.ABANDONED)
RAN_HERE_LATER = row(ClaimState.RELEASED, epoch=EPOCH + 1, running_at=ago(50))


@pytest.mark.parametrize(
    ("behind", "remedy"),
    [
        (NEVER_RAN, Remedy.UNSTAMP),
        (MOVED_ON_WITHOUT_RUNNING, Remedy.UNSTAMP),
        (RAN_ELSEWHERE_AND_FAILED_HERE, Remedy.UNSTAMP),
        (MOVED_ON_AND_RAN_ELSEWHERE, Remedy.UNSTAMP),
        (NOT_TAKEN, Remedy.UNSTAMP),
        (RAN_HERE_LATER, Remedy.DELETE_WORKER),
        (RAN, Remedy.DELETE_WORKER),
        (RAN_AT_ONCE, Remedy.DELETE_WORKER),
        (RAN_AND_QUEUED_AGAIN, Remedy.DELETE_WORKER),
        (RAN_AND_RUNS_ELSEWHERE, Remedy.DELETE_WORKER),
        (RAN_AND_BOUND_ELSEWHERE, Remedy.DELETE_WORKER),
        (None, Remedy.DELETE_WORKER),
    ],
)
def test_only_a_worker_that_provably_never_worked_returns_to_the_pool(behind: Claim | None, remedy: Remedy) -> None:
    [act] = plan_stamped_has_claim(leaked(behind))
    assert act.remedy is remedy


def test_a_worker_that_is_not_ready_is_deleted_though_it_never_worked() -> None:
    [act] = plan_stamped_has_claim(leaked(NEVER_RAN, stamped(1, ready=False)))
    assert act.remedy is Remedy.DELETE_WORKER


def test_silence_of_the_worker_is_no_second_proof() -> None:
    snapshot = ClaimsSnapshot(NOW, (stamped(1),), (), TIMEOUTS, stamped_claims={"claim-1": NEVER_RAN})
    [act] = plan_stamped_has_claim(snapshot)
    assert not all(act.proofs)


def given_back(
    behind: Claim,
    executing: bool | None = None,
    push: bool = True,
    silent_seconds: float | None = None,
    expired: Claim | None = None,
) -> bool:
    """Whether the stamp of a worker that has not spoken counts as proven to be a leak."""
    snapshot = ClaimsSnapshot(
        NOW, (stamped(1),), (), TIMEOUTS, {"uid-1": executing}, {"claim-1": behind},
        push_pools=frozenset({"runners/linux"} if push else ()),
        worker_silent_seconds={} if silent_seconds is None else {"uid-1": silent_seconds},
        expired={"uid-1": (expired,)} if expired else {},
    )  # fmt: skip
    [act] = plan_stamped_has_claim(snapshot)
    return are_independent(act.proofs)


def test_where_workers_never_speak_the_holder_who_gave_it_back_is_the_second_proof() -> None:
    assert given_back(RAN)
    assert not given_back(RAN, executing=True)
    assert not given_back(RAN, push=False), "a worker that polls may still be at work: only its own word counts"
    assert not given_back(row(ClaimState.RELEASED, epoch=EPOCH - 1, running_at=ago(50))), "that was an earlier session"
    assert not given_back(row(ClaimState.EXPIRED, running_at=ago(50)), silent_seconds=9999.0), "nobody gave it back"


def test_a_stamp_that_came_late_is_a_leak_when_its_holder_gave_the_same_worker_back_under_a_later_epoch() -> None:
    assert given_back(RAN_HERE_LATER)
    assert given_back(replace(RAN_HERE_LATER, rebinds=1)), "a holder gives back all that it did under its claim"
    assert not given_back(replace(RAN_HERE_LATER, pod_uid="uid-2", rebinds=1)), "it gave another worker back"
    assert not given_back(replace(RAN_HERE_LATER, state=ClaimState.RUNNING, pod_uid="uid-2", rebinds=1))
    assert not given_back(RAN_HERE_LATER, executing=True)
    assert not given_back(RAN_HERE_LATER, push=False)


@pytest.mark.parametrize("behind", [NEVER_RAN, MOVED_ON_WITHOUT_RUNNING, MOVED_ON_AND_RAN_ELSEWHERE, NOT_TAKEN])
def test_a_stamp_under_which_nobody_was_given_the_worker_is_a_leak_after_the_grace_without_a_word(behind) -> None:
    assert given_back(behind, silent_seconds=TIMEOUTS.reap_grace)
    assert not given_back(behind, silent_seconds=TIMEOUTS.reap_grace - 1)
    assert not given_back(behind), "silence is not measured while words may be missing"
    assert not given_back(behind, silent_seconds=9999.0, push=False)
    assert not given_back(behind, silent_seconds=9999.0, executing=True)


def test_a_stamp_that_came_late_proves_nothing_about_a_later_session_that_nobody_gave_back() -> None:
    hidden = row(ClaimState.EXPIRED, id="claim-2", epoch=EPOCH + 2, running_at=ago(50), cause=EndCause.EXPIRED)
    for behind in (RAN, RAN_HERE_LATER, NEVER_RAN, MOVED_ON_AND_RAN_ELSEWHERE):
        assert given_back(behind, silent_seconds=9999.0)
        assert not given_back(behind, silent_seconds=9999.0, expired=hidden)
        assert given_back(behind, silent_seconds=9999.0, expired=replace(hidden, cause=EndCause.ABANDONED))
    assert given_back(RAN, expired=replace(hidden, epoch=EPOCH - 2)), "it was proven idle before it was claimed again"
    assert given_back(RAN_HERE_LATER, expired=replace(hidden, epoch=EPOCH)), "the same"


@pytest.mark.parametrize("heartbeat_at", [ago(3600), ago(0), ago(-3600)])
@pytest.mark.parametrize(("seconds", "expires"), [(None, False), (3600, True), (61, True), (59, False), (0, False)])
def test_silence_is_measured_whatever_the_clock_said_that_wrote_the_heartbeat(
    heartbeat_at: datetime, seconds: float | None, expires: bool
) -> None:
    silent = row(ClaimState.RUNNING, running_at=ago(300), heartbeat_at=heartbeat_at)
    measured = {} if seconds is None else {silent.id: seconds}
    snapshot = ClaimsSnapshot(NOW, (stamped(1),), (silent,), TIMEOUTS, silent_seconds=measured)
    assert bool(plan_claim_alive(snapshot)) is expires


@pytest.mark.parametrize(
    ("departed", "cause", "floor"),
    [
        ({"uid-1": "the node is cordoned"}, EndCause.DRAINED, 0.0),
        ({"uid-1": ""}, EndCause.WORKER_LOST, 0.0),
        ({}, EndCause.WORKER_LOST, TIMEOUTS.claim_lost_grace),
        ({"uid-2": "the node is cordoned"}, EndCause.WORKER_LOST, TIMEOUTS.claim_lost_grace),
    ],
)
def test_a_claim_whose_worker_was_seen_leaving_a_drained_node_was_drained(
    departed: dict[str, str], cause: EndCause, floor: float
) -> None:
    running = row(ClaimState.RUNNING, running_at=ago(50))
    snapshot = ClaimsSnapshot(NOW, (), (running,), TIMEOUTS, absent_pods=frozenset({"uid-1"}), departed_pods=departed)
    [act] = plan_claim_has_pod(snapshot)
    assert (act.cause, act.floor_seconds) == (cause, floor)


UNHEALTHY = WorkerHealth(limit=3, failures=3, failing_since=ago(30), recent=(Check(NOW, False, "refused", True),))
OVERDUE = {"terminating_since": ago(300), "deletion_due": ago(100)}


@pytest.mark.parametrize(
    ("changes", "where", "cause"),
    [
        (OVERDUE, node(unschedulable=True), EndCause.DRAINED),
        (OVERDUE, node(), EndCause.WORKER_LOST),
        ({}, None, EndCause.WORKER_LOST),
        ({"ended": "exit code 1"}, node(), EndCause.WORKER_LOST),
    ],
)
def test_a_claim_of_a_worker_that_died_where_it_stood_was_drained_only_with_its_node(
    changes: dict[str, object], where: Node | None, cause: EndCause
) -> None:
    snapshot = ClaimsSnapshot(
        NOW,
        (stamped(1, **changes),),
        (row(ClaimState.RUNNING, running_at=ago(50)),),
        TIMEOUTS,
        nodes={where.name: where} if where else {},
        unhealthy={"uid-1": UNHEALTHY},
    )
    [act] = plan_claim_has_pod(snapshot)
    assert act.cause is cause


@pytest.mark.parametrize(("seconds", "lost"), [(59, False), (60, True)])
def test_a_pod_that_completed_keeps_its_claim_as_long_as_its_report_may_be_on_its_way(seconds, lost):
    over = stamped(1, phase="Succeeded", ready=False, ended="its container ended", unready_since=ago(seconds))
    running = row(ClaimState.RUNNING, running_at=ago(500), heartbeat_at=NOW)
    acts = plan_claim_has_pod(ClaimsSnapshot(NOW, (over,), (running,), TIMEOUTS, nodes={"node-1": node()}))
    assert [act.cause for act in acts] == ([EndCause.WORKER_LOST] if lost else [])
