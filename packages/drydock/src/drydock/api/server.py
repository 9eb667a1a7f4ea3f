"""The API server: a request comes in, is understood, allowed, carried out and answered. No sockets."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from drydock.api.access.identity import Authenticator, User, impersonated
from drydock.api.access.rbac import MASTERS, Attributes, Authorizer, forbidden
from drydock.api.access.tokens import TokenSigner, load_key
from drydock.api.answers.representation import negotiate
from drydock.api.answers.status import Refusal, json_response
from drydock.api.bootstrap import bootstrap
from drydock.api.cluster import Call, Cluster
from drydock.api.custom.lifecycle import Definitions
from drydock.api.dispatch import find_handler, no_such_resource
from drydock.api.documents import Documents
from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.kinds.catalog import Catalog
from drydock.api.requests.routing import parse_route
from drydock.api.storage.expiry import EventExpiry
from drydock.api.storage.journal import Journal
from drydock.api.storage.store import HISTORY_CAPACITY, Store
from drydock.api.subresources.kubelets import Kubelets
from drydock.api.subresources.log import read_log
from drydock.api.subresources.streams import STREAMS, open_stream
from hawser.clock import Clock, Entropy
from hawser.errors import InvalidInput
from hawser.transport import Request, Response, Transport

ADMIN = User("admin", (MASTERS,), uid="admin")
CONTROLLERS = User("system:kube-controller-manager", (MASTERS,))


class ApiServer:
    """The whole server is `handle`. It is a `Transport` too, for clients in the same process."""

    def __init__(
        self,
        clock: Clock,
        entropy: Entropy,
        *,
        state_dir: Path | None = None,
        tokens: Mapping[str, User] | None = None,
        history_capacity: int = HISTORY_CAPACITY,
        pod_tokens: bool = False,
    ) -> None:
        self._journal = Journal(state_dir) if state_dir else None
        store = Store(self._journal, history_capacity=history_capacity)
        if self._journal is not None:
            self._journal.restore(store)
        signer = TokenSigner(load_key(state_dir, entropy), clock, entropy, for_pods=pod_tokens)
        self.cluster = Cluster(
            store=store,
            catalog=Catalog(BUILTIN_KINDS),
            clock=clock,
            entropy=entropy,
            signer=signer,
            authenticator=Authenticator(tokens or {}, signer, store, clock),
            authorizer=Authorizer(store),
        )
        self.kubelets = Kubelets()
        self._documents = Documents(self.cluster)
        Definitions(self.cluster)
        EventExpiry(self.cluster)
        bootstrap(self.cluster)

    async def handle(self, request: Request) -> Response:
        """Answer a request. Never raises for what the client did wrong."""
        warnings: list[str] = []
        try:
            response = await self._answer(request, warnings)
        except Refusal as refusal:
            response = _refused(refusal)
        except InvalidInput as error:
            response = _refused(Refusal(400, "BadRequest", error.message))
        if warnings:
            told = (f'299 - "{text}"' for text in map(_escaped, dict.fromkeys(warnings)))
            response.headers = {**response.headers, "warning": ", ".join(told)}
        return response

    async def send(self, request: Request) -> Response:
        return await self.handle(request)

    def introduce_kubelet(self, kubelet: Transport, node: str = "") -> None:
        """Ask this kubelet, in this process, for the logs of a node; without a name, of all that have no other."""
        self.kubelets.introduce(kubelet, node)

    def compact(self) -> None:
        """Forget all history, as etcd does every few minutes: old watches and pages get 410."""
        self.cluster.store.compact()

    def snapshot(self) -> Callable[[], None]:
        """A function that starts the server anew on the objects as they are now, as from a backup of etcd."""
        return self.cluster.store.snapshot()

    async def close(self) -> None:
        """Let go of files and connections. Open watches are for their readers to close."""
        await self.kubelets.close()
        if self._journal is not None:
            self._journal.close()

    async def _answer(self, request: Request, warnings: list[str]) -> Response:
        query = dict(reversed(request.query))  # the first of several values counts
        route = parse_route(request, query)
        user = self._user(request)
        wanted = route.attributes(query)
        self._check(user, wanted)
        if route.path:
            return self._documents.serve(request, query)
        kind = self.cluster.catalog.find(route.group, route.version, route.plural)
        if kind is None or (route.namespace and not kind.namespaced):
            raise no_such_resource()
        accepted = negotiate(request.headers.get("accept", ""), query)
        call = Call(request, query, route, user, kind, accepted, warnings)
        if route.subresource == "log" and "log" in kind.subresources and route.verb == "get":
            return await read_log(self.cluster, self.kubelets, call)
        if route.subresource in STREAMS and route.subresource in kind.subresources:
            return await open_stream(self.cluster, self.kubelets, call)
        return find_handler(kind, route)(self.cluster, call)

    def _user(self, request: Request) -> User:
        user = self.cluster.authenticator.authenticate(request.headers)
        wanted = impersonated(request.headers)
        if wanted is None:
            return user
        self._check(user, Attributes("impersonate", resource="users", name=wanted.name))
        for group in request.headers.get("impersonate-group", "").split(","):
            if group.strip():
                self._check(user, Attributes("impersonate", resource="groups", name=group.strip()))
        return wanted

    def _check(self, user: User, wanted: Attributes) -> None:
        if not self.cluster.authorizer.decide(user, wanted).allowed:
            raise forbidden(user, wanted)


def _refused(refusal: Refusal) -> Response:
    headers = {"retry-after": str(refusal.retry_after_seconds)} if refusal.retry_after_seconds else {}
    return json_response(refusal.code, msgspec.json.encode(refusal.body()), headers)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
