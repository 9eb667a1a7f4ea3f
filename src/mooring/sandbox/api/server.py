"""The sandbox's API server: a request comes in, is understood, allowed, carried out and answered. No sockets."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mooring.clock import Clock, Entropy
from mooring.kube.transport import Request, Response, Transport
from mooring.sandbox.api.access import MASTERS, Attributes, Authorizer, forbidden
from mooring.sandbox.api.bootstrap import bootstrap
from mooring.sandbox.api.builtin import BUILTIN_KINDS
from mooring.sandbox.api.catalog import Catalog
from mooring.sandbox.api.cluster import Call, Cluster
from mooring.sandbox.api.definitions import Definitions
from mooring.sandbox.api.dispatch import find_handler, no_such_resource
from mooring.sandbox.api.documents import Documents
from mooring.sandbox.api.expiry import EventExpiry
from mooring.sandbox.api.identity import Authenticator, User, impersonated
from mooring.sandbox.api.journal import Journal
from mooring.sandbox.api.kubelets import Kubelets
from mooring.sandbox.api.representation import negotiate
from mooring.sandbox.api.routing import parse_route
from mooring.sandbox.api.status import Refusal, json_response
from mooring.sandbox.api.store import HISTORY_CAPACITY, Store
from mooring.sandbox.api.subresources.log import read_log
from mooring.sandbox.api.tokens import TokenSigner, load_key

ADMIN = User("admin", (MASTERS,), uid="admin")


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
    ) -> None:
        self._journal = Journal(state_dir) if state_dir else None
        store = Store(self._journal, history_capacity=history_capacity)
        if self._journal is not None:
            self._journal.restore(store)
        signer = TokenSigner(load_key(state_dir, entropy), clock, entropy)
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
