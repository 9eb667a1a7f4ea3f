"""How a lease judges that it is over: from what the server tells as a fact, never from its words."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mooring.client.errors import LossCause
from mooring.client.leasing import Grant, judge_loss, read_grant
from mooring.model.claim import EndCause

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MISLEADING = "drained, expired, evicted and revoked are only words here"
GRANT = Grant(
    id="claim-1", epoch=7, state="running", pool="runners/linux", owner="acme", ttl_seconds=60, worker=None,
    payload=None, position=None, reason=MISLEADING, cause=None, ended_at=None, key=None,
)  # fmt: skip
BODY = {"id": "claim-1", "epoch": 7, "state": "lost", "namespace": "n", "pool": "p", "owner": "o", "ttlSeconds": 60}


def ended(cause: str | None, state: str = "") -> Grant:
    return replace(GRANT, cause=cause, state=state or EndCause(cause).state.value, ended_at=NOW)


LOSSES = {
    EndCause.RELEASED: LossCause.REVOKED,
    EndCause.REVOKED: LossCause.REVOKED,
    EndCause.EXPIRED: LossCause.EXPIRED,
    EndCause.WAIT_OVER: LossCause.EXPIRED,
    EndCause.DRAINED: LossCause.DRAINED,
    EndCause.WORKER_LOST: LossCause.EVICTED,
    EndCause.FORGOTTEN: LossCause.EVICTED,
    EndCause.NOT_STARTED: LossCause.REVOKED,
}


@pytest.mark.parametrize("cause", EndCause)
def test_the_cause_of_the_claim_decides_whatever_its_reason_says(cause):
    lost = judge_loss("claim-1", 7, ended(cause.value), NOW)
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
def test_a_server_that_tells_no_cause_or_one_unknown_here_is_understood_by_the_state(state, loss, told):
    assert judge_loss("claim-1", 7, ended(told, state), NOW).cause is loss


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
def test_a_claim_that_went_on_under_another_epoch_tells_why_it_left_its_worker(cause, state, loss):
    assert judge_loss("claim-1", 6, replace(GRANT, cause=cause, state=state), NOW).cause is loss


def test_a_claim_that_is_not_known_any_more_was_taken_away():
    assert judge_loss("claim-1", 7, None, NOW).cause is LossCause.REVOKED


@pytest.mark.parametrize("told", [{}, {"cause": None}, {"cause": "drained"}])
def test_the_cause_is_read_where_there_is_one(told):
    assert read_grant({**BODY, **told}).cause == told.get("cause")
