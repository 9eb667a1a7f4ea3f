"""Reviews as verbs of the client: whose token it is, what we may do, what somebody else may do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from hawser.resources import Resource
from hawser.reviews import (
    ACCESSREVIEWS,
    SUBJECTACCESSREVIEWS,
    TOKENREVIEWS,
    Access,
    AccessReviewResult,
    Subject,
    TokenReviewResult,
    access_review,
    subject_access_review,
    token_review,
)

T = TypeVar("T")


class Reviewing(ABC):
    """The part of a client that asks for reviews. A review is a create that stores nothing."""

    @abstractmethod
    async def create(self, resource: Resource[T], body: dict[str, Any], namespace: str | None = None) -> T: ...

    async def review_token(self, token: str, audiences: Sequence[str]) -> TokenReviewResult:
        """Whose bearer token this is, for one of these audiences."""
        review = await self.create(TOKENREVIEWS, token_review(token, audiences))
        return review.result()

    async def can_i(
        self,
        verb: str,
        resource: Resource[Any],
        *,
        namespace: str | None = None,
        name: str = "",
        subresource: str = "",
    ) -> AccessReviewResult:
        """Whether these credentials may do that."""
        review = await self.create(ACCESSREVIEWS, access_review(verb, resource, namespace, name, subresource))
        return review.result()

    async def review_access_of(self, subject: Subject, wanted: Access) -> AccessReviewResult:
        """Whether the subject may do that."""
        review = await self.create(SUBJECTACCESSREVIEWS, subject_access_review(subject, wanted))
        return review.result()
