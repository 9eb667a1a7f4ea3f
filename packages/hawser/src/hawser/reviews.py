"""Questions to the API server about who somebody is and what they may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """Whether it is allowed, and why (not)."""

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
    """The answer in an access review."""

    allowed: bool = False
    reason: str = ""
    evaluation_error: str = ""


class AccessReview(Object, frozen=True):
    """A SelfSubjectAccessReview or a SubjectAccessReview."""

    status: AccessReviewStatus = AccessReviewStatus()

    def result(self) -> AccessReviewResult:
        return AccessReviewResult(self.status.allowed, self.status.reason or self.status.evaluation_error)


TOKENREVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", False, TokenReview)
ACCESSREVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, AccessReview
)
SUBJECTACCESSREVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", False, AccessReview
)


@dataclass(frozen=True, slots=True)
class Subject:
    """Who wants to act, as a TokenReview describes a user."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """What is wanted: a verb on a resource. Without a namespace in all of them; without a name on all objects."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """The `resourceAttributes` of a review, without empty values."""
        return {field: value for field in self.__slots__ if (value := getattr(self, field))}


def token_review(token: str, audiences: Sequence[str]) -> dict[str, Any]:
    """The body that asks whose token it is."""
    return {"spec": {"token": token, "audiences": list(audiences)}}


def access_review(
    verb: str, resource: Resource[Any], namespace: str | None, name: str, subresource: str
) -> dict[str, Any]:
    """The body that asks whether we may."""
    wanted = Access(verb, resource.group, resource.plural, subresource, namespace or "", name)
    return {"spec": {"resourceAttributes": {**wanted.attributes, "version": resource.version}}}


def subject_access_review(subject: Subject, wanted: Access) -> dict[str, Any]:
    """The body that asks whether the subject may."""
    spec: dict[str, Any] = {"user": subject.user, "resourceAttributes": wanted.attributes}
    if subject.groups:
        spec["groups"] = list(subject.groups)
    if subject.uid:
        spec["uid"] = subject.uid
    if subject.extra:
        spec["extra"] = {key: list(values) for key, values in subject.extra}
    return {"spec": spec}
