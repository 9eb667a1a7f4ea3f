"""What every verb works on: the store, the kinds, the clock, and who asks for what."""

from dataclasses import dataclass, field
from datetime import datetime

from drydock.api.access.identity import Authenticator, User
from drydock.api.access.rbac import Authorizer
from drydock.api.access.tokens import TokenSigner
from drydock.api.answers.representation import Accepted, Writer
from drydock.api.answers.status import Refusal
from drydock.api.kinds.catalog import Catalog
from drydock.api.kinds.kind import Context, Kind
from drydock.api.requests.routing import Route
from drydock.api.storage.store import Store, Stored, Table, TableKey, object_key
from hawser.clock import Clock, Entropy
from hawser.transport import Request


@dataclass(frozen=True, slots=True)
class Cluster:
    """The world behind the API."""

    store: Store
    catalog: Catalog
    clock: Clock
    entropy: Entropy
    signer: TokenSigner
    authenticator: Authenticator
    authorizer: Authorizer

    def table(self, kind: Kind) -> Table:
        return self.store.table(TableKey(kind.group, kind.plural))

    def context(self, user: User) -> Context:
        """What a strategy may know."""
        return Context(self.clock.now(), self.entropy.uuid, self.store.lookup, user.name)

    def builtin(self, group: str, plural: str) -> Kind:
        """A built-in kind by name."""
        found = self.catalog.find(group, "v1", plural)
        assert found is not None, f"{plural} is built in"
        return found

    def require(self, kind: Kind, namespace: str, name: str) -> Stored:
        """An object that must exist; 404 otherwise."""
        found = self.table(kind).objects.get(object_key(namespace, name))
        if found is None:
            raise not_found(kind.group, kind.plural, name)
        return found


@dataclass(frozen=True, slots=True)
class Call:
    """One request, understood: who wants what, and how the answer is to look."""

    request: Request
    query: dict[str, str]
    route: Route
    user: User
    kind: Kind
    accepted: Accepted
    warnings: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return self.route.namespace

    @property
    def name(self) -> str:
        return self.route.name

    @property
    def user_agent(self) -> str:
        return self.request.headers.get("user-agent", "")

    def writer(self, cluster: Cluster) -> Writer:
        return Writer(self.kind, self.accepted, cluster.clock.now)


def not_found(group: str, plural: str, name: str) -> Refusal:
    qualified = f"{plural}.{group}" if group else plural
    return Refusal(404, "NotFound", f'{qualified} "{name}" not found', kind=plural, group=group, name=name)


def conflict(group: str, resource: str, name: str, why: str) -> Refusal:
    qualified = f"{resource}.{group}" if group else resource
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    return Refusal(409, "Conflict", message, kind=resource, group=group, name=name)


def denied(kind: Kind, name: str, why: str) -> Refusal:
    """403 by a rule of admission, not of access."""
    qualified = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    message = f'{qualified} "{name}" is forbidden: {why}'
    return Refusal(403, "Forbidden", message, kind=kind.plural, group=kind.group, name=name)


def not_run(kind: Kind, name: str) -> Refusal:
    """405 for an object that would lie there and never come to life."""
    message = (
        f"{kind.kind} is not supported: drydock has no controller that would run it;"
        f" use {kind.use_instead}, or a real control plane"
    )
    return Refusal(405, "MethodNotAllowed", message, kind=kind.plural, group=kind.group, name=name)


def timestamp(moment: datetime) -> str:
    """A time as metadata carries it: whole seconds in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
