"""TokenReviews with a memory."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from hawser.clock import LoopClock
from hawser.errors import ConnectionFailed
from hawser.reviewing import Reviewing
from hawser.reviews import TokenReviewResult
from hawser.token_reviews import TokenReviews
from packages.hawser.tests.test_json_web_token import token

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VALID = TokenReviewResult(authenticated=True, username="robot", audiences=("mooring",))


class Reviewer(Reviewing):
    """Answers as it is told, and counts."""

    def __init__(self, answer: TokenReviewResult | Exception) -> None:
        self.answer = answer
        self.asked = 0

    async def create(self, resource: Any, body: Any, namespace: str | None = None) -> Any:
        raise AssertionError("not used")

    async def review_token(self, token: str, audiences: Any) -> TokenReviewResult:
        self.asked += 1
        await asyncio.sleep(0.1)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def lasting(seconds: float) -> str:
    return token({"aud": ["mooring"], "exp": START.timestamp() + seconds})


async def test_equal_tokens_share_a_review_and_its_answer_is_kept_for_a_minute() -> None:
    reviewer, clock = Reviewer(VALID), LoopClock(START)
    reviews = TokenReviews(reviewer, clock, "mooring")
    good = lasting(clock.monotonic() + 600)
    answers = await asyncio.gather(*(reviews.review(good) for _ in range(50)))
    assert all(answer == VALID for answer in answers) and reviewer.asked == 1
    await clock.sleep(59)
    await reviews.review(good)
    assert reviewer.asked == 1
    await clock.sleep(2)
    await reviews.review(good)
    assert reviewer.asked == 2


async def test_an_answer_is_not_kept_past_the_expiry() -> None:
    reviewer, clock = Reviewer(VALID), LoopClock(START)
    reviews = TokenReviews(reviewer, clock, "mooring")
    short = lasting(clock.monotonic() + 5)
    assert (await reviews.review(short)).authenticated
    await clock.sleep(5)
    refused = await reviews.review(short)
    assert not refused.authenticated and "expired" in refused.error and reviewer.asked == 1


async def test_a_refusal_is_kept_for_a_few_seconds() -> None:
    reviewer, clock = Reviewer(TokenReviewResult(error="invalid bearer token")), LoopClock(START)
    reviews = TokenReviews(reviewer, clock, "mooring")
    bad = lasting(clock.monotonic() + 600)
    for _ in range(5):
        assert (await reviews.review(bad)).error == "invalid bearer token"
    assert reviewer.asked == 1
    await clock.sleep(10)
    await reviews.review(bad)
    assert reviewer.asked == 2


async def test_an_api_server_that_does_not_confirm_the_audience_is_not_believed() -> None:
    reviewer, clock = Reviewer(TokenReviewResult(authenticated=True, username="robot")), LoopClock(START)
    answer = await TokenReviews(reviewer, clock, "mooring").review(lasting(clock.monotonic() + 600))
    assert not answer.authenticated and answer.username == ""


async def test_a_failed_review_is_not_remembered() -> None:
    reviewer, clock = Reviewer(ConnectionFailed("gone")), LoopClock(START)
    reviews = TokenReviews(reviewer, clock, "mooring")
    good = lasting(clock.monotonic() + 600)
    with pytest.raises(ConnectionFailed):
        await reviews.review(good)
    reviewer.answer = VALID
    assert (await reviews.review(good)).authenticated


async def test_a_caller_that_hangs_up_does_not_take_the_answer_from_the_others() -> None:
    reviewer, clock = Reviewer(VALID), LoopClock(START)
    reviews = TokenReviews(reviewer, clock, "mooring")
    good = lasting(clock.monotonic() + 600)
    first, second = (asyncio.create_task(reviews.review(good)) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    assert (await second).authenticated and reviewer.asked == 1
