"""What a caller may do: one SubjectAccessReview for each question, remembered for a short while.

While reviews fail, a caller that was allowed to read in the last minutes may go on reading. Writes are refused.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hawser.errors import KubeError
from hawser.reviews import Access, Subject
from hawser.shared_requests import SharedRequests
from mooring.model.errors import Forbidden, Unavailable
from mooring.model.identity import Identity

if TYPE_CHECKING:
    from hawser.client import KubeClient
    from hawser.clock import Clock

FRESH_SECONDS = 10.0
STALE_SECONDS = 300.0  # how old an answer may be that allows to read while reviews fail
ANSWER_SECONDS = 5.0
FAILING_SECONDS = 2.0  # after a failure, answers from before are used this long without asking again
MOST_ANSWERS = 20_000
_READING = frozenset({"get", "list", "watch"})

_Question = tuple[Identity, Access]


@dataclass(frozen=True, slots=True)
class _Answer:
    allowed: bool
    at: float


class Authorization:
    """Asks the API server, as any authorizer of Kubernetes decides."""

    def __init__(self, client: "KubeClient", clock: "Clock") -> None:
        self._client = client
        self._clock = clock
        self._answers: OrderedDict[_Question, _Answer] = OrderedDict()  # the least recently used first
        self._requests: SharedRequests[_Question, bool] = SharedRequests()
        self._failed_at: float | None = None

    async def allows(self, identity: Identity, wanted: Access) -> bool:
        """Whether the caller may. `Unavailable` while that is not known."""
        if identity.is_operator:
            return True  # as kube-apiserver decides, without asking anybody
        question = (identity, wanted)
        known, now = self._answers.get(question), self._clock.monotonic()
        if known is not None and now - known.at < FRESH_SECONDS:
            self._answers.move_to_end(question)
            return known.allowed
        usable = known is not None and known.allowed and wanted.verb in _READING and now - known.at < STALE_SECONDS
        if usable and self._failed_at is not None and now - self._failed_at < FAILING_SECONDS:
            return True
        try:
            return await self._requests.ask(question, lambda: self._ask(question))
        except (KubeError, TimeoutError) as error:
            self._failed_at = self._clock.monotonic()
            if usable:
                return True
            cause = error.message if isinstance(error, KubeError) else "no answer in time"
            raise Unavailable(
                f"cannot check whether {identity.user} may {describe(wanted)}: {cause}",
                fix="try again when the Kubernetes API answers; 'mooring doctor' checks the permissions of Mooring",
            ) from error

    async def require(self, identity: Identity, wanted: Access) -> None:
        """Raise `Forbidden` unless the caller may."""
        if not await self.allows(identity, wanted):
            raise forbidden(identity, wanted)

    async def _ask(self, question: _Question) -> bool:
        identity, wanted = question
        subject = Subject(identity.user, identity.groups, identity.uid, identity.extra)
        async with asyncio.timeout(ANSWER_SECONDS):
            allowed = (await self._client.review_access_of(subject, wanted)).allowed
        self._answers[question] = _Answer(allowed, self._clock.monotonic())
        self._answers.move_to_end(question)
        while len(self._answers) > MOST_ANSWERS:
            self._answers.popitem(last=False)
        return allowed


def describe(wanted: Access) -> str:
    """The access in the words of `kubectl auth can-i`, with its namespace."""
    resource = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
    resource += f"/{wanted.subresource}" if wanted.subresource else ""
    name = f" {wanted.name!r}" if wanted.name else ""
    place = f"in namespace {wanted.namespace}" if wanted.namespace else "in all namespaces"
    return f"{wanted.verb} {resource}{name} {place}"


def forbidden(identity: Identity, wanted: Access) -> Forbidden:
    """The error of a caller that may not, with what would have to be granted."""
    return Forbidden(
        f"{identity.user} may not {describe(wanted)}",
        fix="bind a Role that allows it, such as mooring-view, mooring-claimer or mooring-operator"
        " (docs/how-to/access.md)",
        detail={"user": identity.user, **wanted.attributes},
    )
