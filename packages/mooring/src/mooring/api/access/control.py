"""Authentication and authorization, put together for one process."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.api.access.authentication import Authentication
from mooring.api.access.authorization import Authorization
from mooring.api.access.kubernetes_tokens import KubernetesTokens
from mooring.api.access.login_throttle import LoginThrottle
from mooring.api.access.sessions import PageSessions
from mooring.api.access.static_tokens import StaticTokens, hash_token
from mooring.model.errors import Misconfigured

if TYPE_CHECKING:
    from hawser.client import KubeClient
    from hawser.clock import Clock, Entropy
    from mooring.ledger.page_sessions import Sessions


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """The operator's token, whether pages are open to browsers on this machine, and the file of static tokens."""

    operator_token: str
    open_pages: bool = False
    tokens: Path | None = None

    def __post_init__(self) -> None:
        if not self.operator_token:
            raise Misconfigured("the operator's token is empty", fix="set MOORING_TOKEN, or delete the token file")


@dataclass(frozen=True, slots=True)
class AccessControl:
    """Who asks, what they may do, and how fast they may guess."""

    authentication: Authentication
    authorization: Authorization
    throttle: LoginThrottle


def build_access(
    options: AccessOptions, client: "KubeClient", sessions: "Sessions", clock: "Clock", entropy: "Entropy"
) -> AccessControl:
    """All parts, with what they share."""
    static = StaticTokens(options.tokens, clock)
    pages = PageSessions(sessions, clock, entropy, static, hash_token(options.operator_token))
    kubernetes = KubernetesTokens(client, clock)
    return AccessControl(
        Authentication(options.operator_token, static, kubernetes, pages, options.open_pages),
        Authorization(client, clock),
        LoginThrottle(clock),
    )
