"""What every verb works on: the store, the kinds, the clock, and who asks for what."""

from dataclasses import dataclass, field
from datetime import datetime

from mooring.clock import Clock, Entropy
from mooring.kube.transport import Request
from mooring.sandbox.api.access import Authorizer
from mooring.sandbox.api.catalog import Catalog
from mooring.sandbox.api.identity import Authenticator, User
from mooring.sandbox.api.kinds import Context, Kind
from mooring.sandbox.api.representation import Accepted, Writer
from mooring.sandbox.api.routing import Route
from mooring.sandbox.api.status import Refusal
from mooring.sandbox.api.store import Store, Stored, Table, TableKey, object_key
from mooring.sandbox.api.tokens import TokenSigner


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


def timestamp(moment: datetime) -> str:
    """A time as metadata carries it: whole seconds in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
