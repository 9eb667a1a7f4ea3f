"""Service account tokens for pods: asked for by TokenRequest, kept until most of their life is over."""

from dataclasses import dataclass

from drydock.actors.machinery.objects import Object, name_of, namespace_of, spec_of, uid_of
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.resources import SERVICEACCOUNTS

_USED_UP = 0.8
_DEFAULT_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    refresh_at: float  # monotonic


class PodTokens:
    """The tokens of one pod, bound to it: they end with it."""

    def __init__(self, client: KubeClient, clock: Clock, pod: Object) -> None:
        self._client = client
        self._clock = clock
        self._pod = pod
        self._tokens: dict[tuple[str, int], _Token] = {}

    async def token(self, audience: str, seconds: int | None) -> str:
        """A token for that audience ("" is the API server's own) with enough of its life left."""
        wanted = (audience, seconds or _DEFAULT_SECONDS)
        held = self._tokens.get(wanted)
        now = self._clock.monotonic()
        if held is None or now >= held.refresh_at:
            held = _Token(await self._request(*wanted), now + wanted[1] * _USED_UP)
            self._tokens[wanted] = held
        return held.text

    async def _request(self, audience: str, seconds: int) -> str:
        bound = {"apiVersion": "v1", "kind": "Pod", "name": name_of(self._pod), "uid": uid_of(self._pod)}
        body: Object = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"name": str(spec_of(self._pod).get("serviceAccountName") or "default")},
            "spec": {
                "audiences": [audience] if audience else [],
                "expirationSeconds": seconds,
                "boundObjectRef": bound,
            },
        }
        namespace = namespace_of(self._pod)
        answer = await self._client.create(SERVICEACCOUNTS.raw(), body, namespace, subresource="token")
        return str(answer["status"]["token"])
