"""Why a claim is lost: from the cause that the server reports, never from the text of the reason."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mooring.client.errors import LossCause
from mooring.client.loss import classify_loss
from mooring.client.records import ClaimView, read_claim
from mooring.model.claim import EndCause

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MISLEADING = "drained, expired, evicted and revoked are only words here"
CLAIM = ClaimView(
    id="claim-1", epoch=7, state="running", pool="runners/linux", owner="acme", ttl_seconds=60, worker=None,
    payload=None, position=None, expected_wait_seconds=None, reason=MISLEADING, cause=None, ended_at=None, key=None,
)  # fmt: skip
BODY = {"id": "claim-1", "epoch": 7, "state": "lost", "namespace": "n", "pool": "p", "owner": "o", "ttlSeconds": 60}


def ended(cause: str | None, state: str = "") -> ClaimView:
    return replace(CLAIM, cause=cause, state=state or EndCause(cause).state.value, ended_at=NOW)


LOSSES = {
    EndCause.RELEASED: LossCause.REVOKED,
    EndCause.REVOKED: LossCause.REVOKED,
    EndCause.EXPIRED: LossCause.EXPIRED,
    EndCause.WAIT_OVER: LossCause.EXPIRED,
    EndCause.ABANDONED: LossCause.ABANDONED,
    EndCause.DRAINED: LossCause.DRAINED,
    EndCause.WORKER_LOST: LossCause.EVICTED,
    EndCause.FORGOTTEN: LossCause.EVICTED,
    EndCause.NOT_STARTED: LossCause.REVOKED,
}


@pytest.mark.parametrize("cause", EndCause)
def test_the_loss_follows_the_cause_and_not_the_text_of_the_reason(cause):
    lost = classify_loss("claim-1", 7, ended(cause.value), NOW)
    assert (lost.cause, lost.at) == (LOSSES[cause], NOW) and MISLEADING in lost.message


@pytest.mark.parametrize("told", [None, "a cause of next year"])
@pytest.mark.parametrize(
    ("state", "loss"),
    [
        ("expired", LossCause.EXPIRED),
        ("lost", LossCause.EVICTED),
        ("released", LossCause.REVOKED),
        ("failed", LossCause.REVOKED),
    ],
)
def test_without_a_known_cause_the_loss_follows_the_state(state, loss, told):
    assert classify_loss("claim-1", 7, ended(told, state), NOW).cause is loss


@pytest.mark.parametrize(
    ("cause", "state", "loss"),
    [
        (EndCause.DRAINED, "queued", LossCause.DRAINED),
        (EndCause.DRAINED, "running", LossCause.DRAINED),
        (EndCause.WORKER_LOST, "running", LossCause.EVICTED),
        (EndCause.RELEASED, "released", LossCause.EVICTED),
        (None, "claimed", LossCause.EVICTED),
    ],
)
def test_a_claim_under_another_epoch_was_lost_for_why_it_left_its_worker(cause, state, loss):
    assert classify_loss("claim-1", 6, replace(CLAIM, cause=cause, state=state), NOW).cause is loss


def test_a_claim_that_the_server_does_not_have_was_revoked():
    assert classify_loss("claim-1", 7, None, NOW).cause is LossCause.REVOKED


@pytest.mark.parametrize("told", [{}, {"cause": None}, {"cause": "drained"}])
def test_the_cause_is_optional_in_answers(told):
    assert read_claim({**BODY, **told}).cause == told.get("cause")
