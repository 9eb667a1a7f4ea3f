"""Inputs of the checks of mints: their addresses, and the Secrets that their calls need."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from hawser import views
from hawser.errors import NotPermitted, ObjectNotFound
from hawser.resources import SECRETS, Resource
from mooring.model.doctor_report import Check
from mooring.model.pool import Mint, Pool, SecretKey
from mooring.planning.mints import KeyState, find_key, judge_mint_key, judge_mint_url, name_subject

if TYPE_CHECKING:
    from mooring.queries.sources import PlatformSource, PoolSource

_SELF_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False, views.PartialObject
)

Refusal = Callable[[str], Awaitable[str]]
"""Why a URL would not be called; empty if it would."""


class MintChecks:
    """One line for each pool with a mint."""

    def __init__(self, context: "PlatformSource", pools: "PoolSource", refusal: Refusal) -> None:
        self._context = context
        self._pools = pools
        self._refusal = refusal

    async def look(self) -> Iterable[Check]:
        """The lines."""
        minted = [(pool, pool.spec.mint) for pool in self._pools.pools.values() if pool.spec.mint is not None]
        subject = await self._subject() if any(find_key(mint.auth) for _, mint in minted) else ""
        return [await self._judge(pool, mint, subject) for pool, mint in minted]

    async def _judge(self, pool: Pool, mint: Mint, subject: str) -> Check:
        urls = {"url": mint.url, "revokeURL": mint.revoke_url}
        refusals = {name: why for name, url in urls.items() if url and (why := await self._refusal(url))}
        key = find_key(mint.auth)
        if refusals or key is None:
            return judge_mint_url(pool, refusals)
        return judge_mint_key(pool, key, await self._look_at_key(pool, key), subject)

    async def _subject(self) -> str:
        """The user under which the cluster knows Mooring."""
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await self._context.client.create(_SELF_REVIEWS.raw(), wanted)
        return name_subject(str(answer["status"]["userInfo"]["username"]))

    async def _look_at_key(self, pool: Pool, key: SecretKey) -> KeyState:
        try:
            found = await self._context.client.get(SECRETS.raw(), key.secret_name, pool.namespace)
        except ObjectNotFound:
            return KeyState.NO_SECRET
        except NotPermitted:
            return KeyState.FORBIDDEN
        return KeyState.PRESENT if (found.get("data") or {}).get(key.key) else KeyState.NO_KEY
