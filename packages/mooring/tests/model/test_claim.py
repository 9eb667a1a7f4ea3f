from datetime import UTC, datetime
from itertools import product

import pytest

from mooring.model.claim import (
    ENDED,
    LIVE,
    OPEN,
    TRANSITIONS,
    Admission,
    AdmissionVerdict,
    Claim,
    ClaimState,
    KeyReused,
    LimitReached,
    Outcome,
    SlotTaken,
    Verdict,
    WorkerSlot,
    judge_bind,
    judge_heartbeat,
    judge_requeue,
    judge_write,
    may_follow,
)
from mooring.model.errors import Conflict, NotFound, StaleEpoch

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def claim(state: ClaimState, *, epoch: int = 5, previous_epoch: int | None = None, retryable: bool = False) -> Claim:
    held = state is not ClaimState.QUEUED
    return Claim(
        id="c", namespace="ci", pool="linux", owner="acme", state=state, priority=0, idempotency_key=None,
        request_hash="", epoch=epoch, previous_epoch=previous_epoch, pod_name="w" if held else None,
        pod_uid="uid-w" if held else None, slot=0 if held else None, address="", protected_until=None, ticket=1,
        retryable=retryable, rebinds=0, payload=None, delivered_epoch=None, ttl_seconds=60, wait_until=None,
        created_at=NOW, queued_at=None, claimed_at=None, running_at=None, heartbeat_at=None,
        ended_at=NOW if state in ENDED else None, reason="why",
    )  # fmt: skip


def test_every_state_is_waiting_live_or_ended() -> None:
    assert frozenset(ClaimState) == ENDED | OPEN and not ENDED & OPEN
    assert {ClaimState.QUEUED} == OPEN - LIVE
    assert set(TRANSITIONS) == set(ClaimState)


def test_nothing_follows_an_end_and_an_end_can_follow_anything_else() -> None:
    for state, goal in product(ClaimState, ClaimState):
        if state in ENDED:
            assert not may_follow(state, goal)
        elif goal in ENDED:
            assert may_follow(state, goal)


def test_work_runs_only_after_it_was_claimed() -> None:
    assert [state for state in ClaimState if may_follow(state, ClaimState.RUNNING)] == [ClaimState.CLAIMED]


@pytest.mark.parametrize("state", ClaimState)
def test_no_write_of_another_epoch_takes_effect(state: ClaimState) -> None:
    where = WorkerSlot("w", "uid-w")
    for epoch in (4, 6):
        verdicts = {judge_write(claim(state), epoch, goal) for goal in ClaimState}
        verdicts |= {judge_requeue(claim(state), epoch), judge_heartbeat(claim(state), epoch)}
        verdicts.add(judge_bind(claim(state), epoch, where))
        assert verdicts == {Verdict.STALE}


@pytest.mark.parametrize(
    ("state", "goal", "verdict"),
    [
        (ClaimState.CLAIMED, ClaimState.RUNNING, Verdict.DONE),
        (ClaimState.RUNNING, ClaimState.RUNNING, Verdict.ALREADY),
        (ClaimState.QUEUED, ClaimState.RUNNING, Verdict.REFUSED),
        (ClaimState.LOST, ClaimState.RUNNING, Verdict.ENDED),
        (ClaimState.QUEUED, ClaimState.RELEASED, Verdict.DONE),
        (ClaimState.RELEASED, ClaimState.RELEASED, Verdict.ALREADY),
        (ClaimState.RELEASED, ClaimState.LOST, Verdict.ENDED),
    ],
)
def test_a_write_is_judged_by_where_the_claim_is(state: ClaimState, goal: ClaimState, verdict: Verdict) -> None:
    assert judge_write(claim(state), 5, goal) is verdict


@pytest.mark.parametrize(
    ("state", "retryable", "verdict"),
    [
        (ClaimState.CLAIMED, False, Verdict.DONE),
        (ClaimState.RUNNING, True, Verdict.DONE),
        (ClaimState.RUNNING, False, Verdict.REFUSED),
        (ClaimState.QUEUED, True, Verdict.REFUSED),
        (ClaimState.EXPIRED, True, Verdict.ENDED),
    ],
)
def test_only_what_did_not_run_or_may_be_repeated_goes_back_to_the_queue(
    state: ClaimState, retryable: bool, verdict: Verdict
) -> None:
    assert judge_requeue(claim(state, retryable=retryable), 5) is verdict


def test_repeats_of_writes_that_replaced_the_epoch_are_recognised() -> None:
    requeued = claim(ClaimState.QUEUED, epoch=6, previous_epoch=5)
    assert judge_requeue(requeued, 5) is Verdict.ALREADY
    bound = claim(ClaimState.CLAIMED, epoch=6, previous_epoch=5)
    assert judge_bind(bound, 5, WorkerSlot("w", "uid-w")) is Verdict.ALREADY
    assert judge_bind(bound, 5, WorkerSlot("v", "uid-v")) is Verdict.STALE
    assert judge_bind(bound, 6, WorkerSlot("v", "uid-v")) is Verdict.DONE
    assert judge_bind(claim(ClaimState.RUNNING), 5, WorkerSlot("v", "uid-v")) is Verdict.REFUSED


def test_only_a_live_claim_has_a_heartbeat() -> None:
    accepted = {state for state in ClaimState if judge_heartbeat(claim(state), 5) is Verdict.DONE}
    assert accepted == LIVE
    assert judge_heartbeat(None, 5) is Verdict.MISSING


def test_an_outcome_without_effect_is_an_error_that_says_why() -> None:
    held = claim(ClaimState.RUNNING)
    assert Outcome(Verdict.DONE, held).require() is Outcome(Verdict.ALREADY, held).require() is held
    for verdict, error in (
        (Verdict.STALE, StaleEpoch),
        (Verdict.ENDED, Conflict),
        (Verdict.REFUSED, Conflict),
        (Verdict.SLOT_TAKEN, SlotTaken),
    ):
        with pytest.raises(error):
            Outcome(verdict, held).require()
    with pytest.raises(NotFound):
        Outcome(Verdict.MISSING, None).require()


def test_a_refused_admission_is_an_error_with_a_stable_code() -> None:
    for verdict, error, code in (
        (AdmissionVerdict.KEY_REUSED, KeyReused, "key_reused"),
        (AdmissionVerdict.LIMIT_REACHED, LimitReached, "limit_reached"),
        (AdmissionVerdict.QUEUE_FULL, LimitReached, "limit_reached"),
        (AdmissionVerdict.SLOT_TAKEN, SlotTaken, "slot_taken"),
        (AdmissionVerdict.QUEUE_AHEAD, Conflict, "conflict"),
    ):
        with pytest.raises(error) as caught:
            Admission(verdict).require()
        assert caught.value.code == code
