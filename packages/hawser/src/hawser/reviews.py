"""Questions to the API server about who somebody is and what we may do."""

from collections.abc import Mapping, Sequence
from typing import Any

from hawser.resources import Resource
from hawser.views.base import Object, View


class TokenReviewResult(View, frozen=True):
    """Whose token it is. Every field is worthless unless `authenticated`."""

    authenticated: bool = False
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}
    error: str = ""


class AccessReviewResult(View, frozen=True):
    """Whether we may, and why (not)."""

    allowed: bool = False
    reason: str = ""


class ReviewedUser(View, frozen=True):
    """The user of a TokenReview."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class TokenReviewStatus(View, frozen=True):
    """The answer in a TokenReview."""

    authenticated: bool = False
    user: ReviewedUser = ReviewedUser()
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReview(Object, frozen=True):
    """A TokenReview."""

    status: TokenReviewStatus = TokenReviewStatus()

    def result(self) -> TokenReviewResult:
        user = self.status.user
        return TokenReviewResult(
            authenticated=self.status.authenticated,
            username=user.username,
            uid=user.uid,
            groups=user.groups,
            audiences=self.status.audiences,
            extra=user.extra,
            error=self.status.error,
        )


class AccessReviewStatus(View, frozen=True):
    """The answer in a SelfSubjectAccessReview."""

    allowed: bool = False
    reason: str = ""
    evaluation_error: str = ""


class AccessReview(Object, frozen=True):
    """A SelfSubjectAccessReview."""

    status: AccessReviewStatus = AccessReviewStatus()

    def result(self) -> AccessReviewResult:
        return AccessReviewResult(self.status.allowed, self.status.reason or self.status.evaluation_error)


TOKENREVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", False, TokenReview)
ACCESSREVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, AccessReview
)


def token_review(token: str, audiences: Sequence[str]) -> dict[str, Any]:
    """The body that asks whose token it is."""
    return {"spec": {"token": token, "audiences": list(audiences)}}


def access_review(
    verb: str, resource: Resource[Any], namespace: str | None, name: str, subresource: str
) -> dict[str, Any]:
    """The body that asks whether we may."""
    attributes = {
        "verb": verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "subresource": subresource,
        "namespace": namespace or "",
        "name": name,
    }
    return {"spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}}}
