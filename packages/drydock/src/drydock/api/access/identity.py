"""Who is asking: bearer tokens, service account tokens, impersonation."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from drydock.api.access.tokens import ISSUER, Claims, TokenSigner
from drydock.api.answers.status import Refusal
from drydock.api.storage.store import Store
from hawser.clock import Clock

_AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True, slots=True)
class User:
    """A name and the groups it belongs to."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True, slots=True)
class Proof:
    """The user that a token stands for, and the audiences it is good for among those asked about."""

    user: User
    audiences: tuple[str, ...]


class Authenticator:
    """Turns a request's headers into a user."""

    def __init__(self, tokens: Mapping[str, User], signer: TokenSigner, store: Store, clock: Clock) -> None:
        self._tokens = {token: replace(user, groups=(*user.groups, _AUTHENTICATED)) for token, user in tokens.items()}
        self._signer = signer
        self._store = store
        self._clock = clock

    def authenticate(self, headers: Mapping[str, str]) -> User:
        """The user behind an `authorization` header; anonymous without one; 401 for a token that is no good."""
        header = headers.get("authorization", "")
        if not header:
            return ANONYMOUS
        scheme, _, token = header.partition(" ")
        proof = self.prove(token.strip(), (ISSUER,)) if scheme.lower() == "bearer" else None
        if proof is None:
            raise Refusal(401, "Unauthorized", "Unauthorized")
        return proof.user

    def prove(self, token: str, audiences: tuple[str, ...]) -> Proof | None:
        """Whose token it is, if it is good for one of the audiences."""
        if (user := self._tokens.get(token)) is not None:
            return Proof(user, (ISSUER,)) if ISSUER in audiences else None
        claims = self._signer.read(token)
        if claims is None or not self._still_good(claims):
            return None
        shared = tuple(audience for audience in audiences if audience in claims.aud)
        return Proof(_service_account(claims), shared) if shared else None

    def _still_good(self, claims: Claims) -> bool:
        now = self._clock.now().timestamp()
        bound = claims.binding
        account_exists = self._exists(
            "serviceaccounts", bound.namespace, bound.serviceaccount.name, bound.serviceaccount.uid
        )
        pod_exists = bound.pod is None or self._exists("pods", bound.namespace, bound.pod.name, bound.pod.uid)
        return claims.nbf <= now < claims.exp and account_exists and pod_exists

    def _exists(self, plural: str, namespace: str, name: str, uid: str) -> bool:
        found = self._store.lookup("", plural, namespace, name)
        return found is not None and found["metadata"]["uid"] == uid


def impersonated(headers: Mapping[str, str]) -> User | None:
    """The user that the `impersonate-*` headers ask to be; the caller must be allowed to."""
    name = headers.get("impersonate-user", "")
    if not name:
        return None
    groups = tuple(group.strip() for group in headers.get("impersonate-group", "").split(",") if group.strip())
    if name.startswith("system:serviceaccount:"):
        _, _, namespace, _ = name.split(":", 3)
        groups = groups or _service_account_groups(namespace)
    return User(name, (*groups, _AUTHENTICATED), uid=headers.get("impersonate-uid", ""))


def _service_account(claims: Claims) -> User:
    bound = claims.binding
    extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims.jti}",)}
    if bound.pod is not None:
        extra["authentication.kubernetes.io/pod-name"] = (bound.pod.name,)
        extra["authentication.kubernetes.io/pod-uid"] = (bound.pod.uid,)
    if bound.node is not None:
        extra["authentication.kubernetes.io/node-name"] = (bound.node.name,)
    groups = (*_service_account_groups(bound.namespace), _AUTHENTICATED)
    return User(claims.sub, groups, bound.serviceaccount.uid, extra)


def _service_account_groups(namespace: str) -> tuple[str, ...]:
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
