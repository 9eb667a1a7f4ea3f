"""Which worker is asking: its projected token, reviewed by the API server, leads to a pod, and the pod to a worker."""

import hashlib
from dataclasses import dataclass

from mooring.clock import Clock
from mooring.control.fleet import Fleet
from mooring.control.translation import worker_from_pod
from mooring.kube.client import KubeClient
from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import PODS
from mooring.kube.reviews import TokenReviewResult
from mooring.model.errors import Forbidden, Unauthorized, Unavailable
from mooring.model.worker import Worker

AUDIENCE = "mooring-dispatch"
REMEMBERED_SECONDS = 30.0
_POD_NAME = "authentication.kubernetes.io/pod-name"
_POD_UID = "authentication.kubernetes.io/pod-uid"


@dataclass(frozen=True, slots=True)
class BoundPod:
    """The pod a token is bound to."""

    namespace: str
    name: str
    uid: str


class WorkerIdentity:
    """Turns tokens into workers. Good tokens are remembered for a short while, by their hash; bad ones never."""

    def __init__(self, client: KubeClient, fleet: Fleet, clock: Clock) -> None:
        self._client = client
        self._fleet = fleet
        self._clock = clock
        self._known: dict[str, tuple[BoundPod, float]] = {}  # in the order of review, the oldest first

    async def identify(self, token: str) -> Worker:
        """The worker behind a token. `Unauthorized`: the token is no good; `Forbidden`: it is not a worker's."""
        if not self._fleet.synced:
            raise Unavailable("workers are not known yet: the caches are not synced", fix="ask again in a moment")
        pod = await self._bound_pod(token)
        worker = self._find(pod) or await self._look_up(pod)
        if worker is None or worker.namespace != pod.namespace or worker.name != pod.name:
            raise Forbidden(
                f"pod {pod.namespace}/{pod.name} is not a worker", fix="only workers of a WorkerPool are dispatched to"
            )
        return worker

    async def _bound_pod(self, token: str) -> BoundPod:
        self._forget_old()
        key = hashlib.sha256(token.encode()).hexdigest()
        if (known := self._known.get(key)) is not None:
            return known[0]
        if not token:
            raise Unauthorized("no token was sent", fix=f"send the projected token of audience {AUDIENCE}")
        pod = _read(await self._client.review_token(token, [AUDIENCE]))
        self._known[key] = (pod, self._clock.monotonic() + REMEMBERED_SECONDS)
        return pod

    def _find(self, pod: BoundPod) -> Worker | None:
        for workers in self._fleet.worker_pools.values():
            if (worker := workers.get(pod.uid)) is not None:
                return worker
        return None

    async def _look_up(self, pod: BoundPod) -> Worker | None:
        """Not in the cache: a refusal would end the worker for good, so a lagging watch must not cause one."""
        try:
            found = await self._client.get(PODS, pod.name, pod.namespace)
        except ObjectNotFound:
            return None
        return worker_from_pod(found) if found.metadata.uid == pod.uid else None

    def _forget_old(self) -> None:
        now = self._clock.monotonic()
        while self._known:
            key, (_, until) = next(iter(self._known.items()))
            if until > now:
                return
            del self._known[key]


def _read(review: TokenReviewResult) -> BoundPod:
    # An API server that knows no audiences authenticates every token of its own: the audience must be in its answer.
    if not review.authenticated or AUDIENCE not in review.audiences:
        raise Unauthorized(
            f"the token is not valid for {AUDIENCE}" + (f": {review.error}" if review.error else ""),
            fix=f"mount a projected serviceAccountToken of audience {AUDIENCE}, and read it anew for every request",
        )
    kind, _, account = review.username.partition("system:serviceaccount:")
    namespace = account.partition(":")[0]
    name, uid = review.extra.get(_POD_NAME, ("",))[0], review.extra.get(_POD_UID, ("",))[0]
    if kind or not namespace or not name or not uid:
        raise Forbidden("the token is not bound to a pod", fix="use a token that is projected into the worker's pod")
    return BoundPod(namespace, name, uid)
