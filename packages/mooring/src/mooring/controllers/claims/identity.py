"""Which worker is asking: its projected token, reviewed by the API server, leads to a pod, and the pod to a worker."""

from dataclasses import dataclass

from hawser.reviews import TokenReviewResult
from hawser.token_reviews import TokenReviews
from mooring.controllers.fleet import Fleet
from mooring.engine.context import Context
from mooring.model.errors import Forbidden, Unauthorized, Unavailable
from mooring.model.names import DISPATCH_AUDIENCE
from mooring.model.worker import Worker

_POD_NAME = "authentication.kubernetes.io/pod-name"
_POD_UID = "authentication.kubernetes.io/pod-uid"


@dataclass(frozen=True, slots=True)
class BoundPod:
    """The pod a token is bound to."""

    namespace: str
    name: str
    uid: str


class WorkerIdentity:
    """Turns tokens into workers."""

    def __init__(self, context: Context, fleet: Fleet) -> None:
        self._reviews = TokenReviews(context.client, context.clock, DISPATCH_AUDIENCE)
        self._fleet = fleet

    async def identify(self, token: str) -> Worker:
        """The worker behind a token. `Unauthorized`: the token is no good; `Forbidden`: it is not a worker's."""
        if not self._fleet.synced:
            raise Unavailable("workers are not known yet: the caches are not synced", fix="ask again in a moment")
        if not token:
            raise Unauthorized("no token was sent", fix=f"send the projected token of audience {DISPATCH_AUDIENCE}")
        pod = _read(await self._reviews.review(token))
        worker = self._find(pod) or await self._look_up(pod)
        if worker is None or worker.namespace != pod.namespace or worker.name != pod.name:
            raise Forbidden(
                f"pod {pod.namespace}/{pod.name} is not a worker", fix="only workers of a WorkerPool are dispatched to"
            )
        return worker

    def _find(self, pod: BoundPod) -> Worker | None:
        for workers in self._fleet.worker_pools.values():
            if (worker := workers.get(pod.uid)) is not None:
                return worker
        return None

    async def _look_up(self, pod: BoundPod) -> Worker | None:
        """Not in the cache: a refusal would end the worker for good, so a lagging watch must not cause one."""
        worker = await self._fleet.look_up(pod.namespace, pod.name)
        return worker if worker is not None and worker.uid == pod.uid else None


def _read(review: TokenReviewResult) -> BoundPod:
    if not review.authenticated:
        raise Unauthorized(
            f"the token is not valid for {DISPATCH_AUDIENCE}" + (f": {review.error}" if review.error else ""),
            fix=f"mount a projected serviceAccountToken of audience {DISPATCH_AUDIENCE}; read it for every request",
        )
    kind, _, account = review.username.partition("system:serviceaccount:")
    namespace = account.partition(":")[0]
    name, uid = review.extra.get(_POD_NAME, ("",))[0], review.extra.get(_POD_UID, ("",))[0]
    if kind or not namespace or not name or not uid:
        raise Forbidden("the token is not bound to a pod", fix="use a token that is projected into the worker's pod")
    return BoundPod(namespace, name, uid)
