"""Creating what has a name of its own, again and again until it is known to exist: exactly once."""

from collections.abc import Callable
from typing import Any, TypeVar

import structlog

from mooring.clock import Clock, Entropy
from mooring.kube.backoff import Backoff
from mooring.kube.client import KubeClient
from mooring.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    ConnectionFailed,
    KubeError,
    ObjectConflict,
    ObjectInvalid,
    ObjectNotFound,
    ServerFailed,
    TooManyRequests,
)
from mooring.kube.resources import Resource
from mooring.kube.views import Object
from mooring.model.errors import Conflict

log = structlog.get_logger()

ATTEMPTS = 6
REFUSALS = (ObjectInvalid, BadRequest)  # the same body gets the same answer, however often it is sent

T = TypeVar("T", bound=Object)


class InTheWay(Conflict):
    """The name belongs to an object that is not ours, or that is on its way out."""

    code = "name_taken"

    def __init__(self, found: Object, kind: str) -> None:
        state = "being deleted" if found.terminating else "made by somebody else"
        super().__init__(f"{kind} {found.metadata.name} is in the way: {state}")
        self.found = found


class Creator:
    """409, 429 and 5xx are tried again with jitter, after what Retry-After says; an unknown outcome is read back."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy

    async def create(
        self, resource: Resource[T], body: dict[str, Any], namespace: str, is_ours: Callable[[T], bool]
    ) -> tuple[T, bool]:
        """The object, and whether this call made it; `InTheWay` when the name belongs to another."""
        backoff = Backoff(self._entropy)
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._client.create(resource, body, namespace), True
            except AlreadyExists as error:
                failed: KubeError = error
            except (TooManyRequests, ObjectConflict, ServerFailed, ConnectionFailed) as error:
                failed = error
            if not isinstance(failed, TooManyRequests):
                found = await self._look(resource, body["metadata"]["name"], namespace, failed)
                if found is not None:
                    if found.terminating or not is_ours(found):
                        raise InTheWay(found, resource.kind)
                    return found, False
            if attempt >= ATTEMPTS:
                raise failed
            asked = failed.retry_after_seconds if isinstance(failed, ApiError) else None
            log.info("a create is tried again", kind=resource.kind, error=failed.message, attempt=attempt)
            await self._clock.sleep(max(backoff.next_seconds(), asked or 0.0))

    async def _look(self, resource: Resource[T], name: str, namespace: str, failed: KubeError) -> T | None:
        """Whether it exists after all; None when it does not, or when not even that can be told."""
        try:
            return await self._client.get(resource, name, namespace)
        except ObjectNotFound:
            return None
        except KubeError:
            if isinstance(failed, AlreadyExists):
                raise
            return None
