"""Creating objects under fixed names: exactly once, also after a lost answer, and never over a stranger's."""

from collections.abc import Callable
from typing import Any, TypeVar

import structlog

from hawser.backoff import Backoff
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import (
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
from hawser.resources import Resource
from hawser.views import Object
from mooring.model.errors import Conflict

log = structlog.get_logger()

ATTEMPTS = 6
REFUSALS = (ObjectInvalid, BadRequest)  # the same body gets the same answer, however often it is sent

T = TypeVar("T", bound=Object)


class NameTaken(Conflict):
    """The name belongs to an object that is not ours, or that is being deleted."""

    code = "name_taken"

    def __init__(self, found: Object, kind: str) -> None:
        state = "being deleted" if found.terminating else "made by another client"
        super().__init__(f"{kind} {found.metadata.name} is in the way: {state}")
        self.found = found


class Creator:
    """Tries again after 409, 429 and 5xx, with jitter and after Retry-After; reads back what may have happened.

    With one attempt it leaves trying again to the next pass.
    """

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy, attempts: int = ATTEMPTS) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._attempts = attempts

    async def create(
        self, resource: Resource[T], body: dict[str, Any], namespace: str, is_ours: Callable[[T], bool]
    ) -> tuple[T, bool]:
        """The object, and whether this call made it. `NameTaken` when the name belongs to another."""
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
                        raise NameTaken(found, resource.kind)
                    return found, False
            if attempt >= self._attempts:
                raise failed
            asked = failed.retry_after_seconds if isinstance(failed, ApiError) else None
            log.info("create is tried again", kind=resource.kind, error=failed.message, attempt=attempt)
            await self._clock.sleep(max(backoff.next_seconds(), asked or 0.0))

    async def _look(self, resource: Resource[T], name: str, namespace: str, failed: KubeError) -> T | None:
        """The object that exists after all; None when it does not exist, or when not even that can be read."""
        try:
            return await self._client.get(resource, name, namespace)
        except ObjectNotFound:
            return None
        except KubeError:
            if isinstance(failed, AlreadyExists):
                raise
            return None
