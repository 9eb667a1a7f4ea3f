"""Acting as another user: the API server judges and records each request as that user's."""

from dataclasses import dataclass, replace

from hawser.transport import Request, Response, Transport


@dataclass(frozen=True, slots=True)
class Impersonation:
    """A transport for this user, in this group. The credentials of `inner` must allow it."""

    inner: Transport
    user: str
    group: str

    async def send(self, request: Request) -> Response:
        headers = {**request.headers, "impersonate-user": self.user, "impersonate-group": self.group}
        return await self.inner.send(replace(request, headers=headers))
