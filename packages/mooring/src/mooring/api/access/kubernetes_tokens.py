"""Kubernetes tokens of the audience `mooring`, as the API server reviews them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hawser.errors import KubeError
from hawser.token_reviews import TokenReviews
from mooring.model.errors import Unauthorized, Unavailable
from mooring.model.identity import Identity
from mooring.model.names import API_AUDIENCE

if TYPE_CHECKING:
    from hawser.client import KubeClient
    from hawser.clock import Clock


class KubernetesTokens:
    """Turns tokens into identities."""

    def __init__(self, client: "KubeClient", clock: "Clock") -> None:
        self._reviews = TokenReviews(client, clock, API_AUDIENCE)

    async def identify(self, token: str, before_asking: Callable[[], None]) -> Identity:
        """Whose token it is. `Unauthorized` if it is not valid, `Unavailable` while that is not known."""
        try:
            review = await self._reviews.review(token, before_asking)
        except KubeError as error:
            raise Unavailable(
                f"the token cannot be reviewed: {error.message}", fix="try again when the Kubernetes API answers"
            ) from error
        if not review.authenticated or not review.username:
            raise Unauthorized(
                f"the token is not valid for {API_AUDIENCE}: {review.error}",
                fix=f"mooring login --service-account NAMESPACE/NAME  # it asks for the audience {API_AUDIENCE}",
            )
        extra = tuple(sorted(review.extra.items()))
        return Identity(review.username, review.groups, review.uid, extra)
