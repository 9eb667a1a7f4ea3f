"""The mint: a webhook that makes a worker's credentials when it is claimed. Its answer joins the claim's payload."""

import asyncio
from typing import Any, Protocol

import aiohttp
import msgspec

from hawser.views import format_time
from mooring.controllers.claims.mint_auth import MintFailed, MintKeys
from mooring.engine.outgoing import DestinationRefused, check_url, find_refusal, open_session
from mooring.model.claim import Claim
from mooring.model.payload import find_fault
from mooring.model.pool import Mint, Pool
from mooring.planning.destinations import OutgoingPolicy

__all__ = ["MintFailed", "Minter", "WebhookMinter", "shown_url"]

_MOST_BYTES = 256 * 1024
_GONE = 410  # the mint says that nothing is left to revoke


class Minter(Protocol):
    """Asks the mint of a pool."""

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        """The payload for the worker; None when the pool has no mint. Raises `MintFailed`."""
        ...

    async def revoke(self, mint: Mint, claim: Claim) -> None:
        """Revoke what was made for a claim that has ended. Raises `MintFailed`."""
        ...

    async def refusal(self, url: str) -> str:
        """Why a mint at this URL would not be called; empty if it would."""
        ...


class WebhookMinter:
    """Asks over HTTP, once: a mint may not be idempotent. Redirects are refused: they would carry the key elsewhere.

    A handover that is resumed after a crash has to ask again: as the next attempt, but for the same claim.
    By its id a mint can know the repeat.
    """

    def __init__(self, keys: MintKeys, policy: OutgoingPolicy) -> None:
        self._keys = keys
        self._policy = policy
        self._session: aiohttp.ClientSession | None = None

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        mint = pool.spec.mint
        if mint is None:
            return None
        text = await self._post(mint.url, mint, claim, {**_describe(claim), "payload": claim.payload})
        try:
            payload = msgspec.json.decode(text) if text else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MintFailed(
                f"the mint of {pool.key} did not answer with JSON: {error}", fix=f"look at {shown_url(mint.url)}"
            ) from None
        if not isinstance(payload, dict):
            raise MintFailed(f"the mint of {pool.key} did not answer with a JSON object")
        if fault := find_fault(payload):
            raise MintFailed(f"the mint of {pool.key} answered with a payload that is not {fault}")
        return payload

    async def revoke(self, mint: Mint, claim: Claim) -> None:
        end = {
            "state": claim.state.value,
            "cause": claim.cause.value if claim.cause else None,
            "endedAt": format_time(claim.ended_at) if claim.ended_at else None,
        }
        await self._post(mint.revoke_url, mint, claim, {**_describe(claim), **end}, fine=_GONE)

    async def refusal(self, url: str) -> str:
        return await find_refusal(url, self._policy, aiohttp.ThreadedResolver())

    async def _post(self, url: str, mint: Mint, claim: Claim, body: dict[str, Any], fine: int = 0) -> bytes:
        session = self._session = self._session or open_session(self._policy)
        sent, whose = msgspec.json.encode(body), f"{claim.namespace}/{claim.pool}"
        headers = {"Content-Type": "application/json", "Idempotency-Key": claim.id}
        try:
            check_url(url, self._policy)
            async with asyncio.timeout(mint.timeout_seconds):
                headers |= await self._keys.headers(claim.namespace, mint.auth, sent)
                async with session.post(url, data=sent, headers=headers, allow_redirects=False) as answer:
                    status, text = answer.status, await _read(answer.content)
                    encoding = answer.headers.get("Content-Encoding", "identity")
        except DestinationRefused as refused:
            raise MintFailed(f"the mint of {whose} is not called: {refused.message}", fix=refused.fix) from refused
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            reason = _reason(error)
            # Not `from error`: errors of the HTTP client contain the URL and the headers, with the key.
            raise MintFailed(f"the mint of {whose} did not answer: {reason}", fix=f"look at {shown_url(url)}") from None
        if status in (401, 403):
            self._keys.forget(claim.namespace, mint.auth)
        if status // 100 != 2 and status != fine:
            raise MintFailed(f"the mint of {whose} answered {status}", fix=f"look at {shown_url(url)}")
        if encoding.lower() != "identity":
            fix = "let it obey Accept-Encoding: identity"
            raise MintFailed(f"the mint of {whose} answered with a compressed body", fix=fix)
        if len(text) > _MOST_BYTES:
            raise MintFailed(f"the mint of {whose} answered more than {_MOST_BYTES} bytes")
        return text

    async def close(self) -> None:
        """Give its connections back."""
        if self._session is not None:
            await self._session.close()


def shown_url(url: str) -> str:
    """A URL without what may be a secret: user, password and query."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _reason(error: Exception) -> str:
    """The reason without the text of the HTTP client, which contains the URL with its query and the key."""
    match error:
        case TimeoutError():
            return "no whole answer in time"
        case aiohttp.InvalidURL():
            return "the URL is not valid"
        case aiohttp.ClientResponseError():
            return "the answer is not HTTP"
        case aiohttp.ClientPayloadError():
            return "the answer is cut off"
        case aiohttp.ServerDisconnectedError():
            return "the connection was closed"
        case OSError():
            return f"no connection: {error.strerror or type(error).__name__}"
    return type(error).__name__


def _describe(claim: Claim) -> dict[str, Any]:
    """The fields of a claim that both calls of the mint send."""
    return {
        "claim": claim.id,
        "epoch": claim.epoch,
        "attempt": claim.attempt,
        "owner": claim.owner,
        "pool": f"{claim.namespace}/{claim.pool}",
        "worker": {"name": claim.pod_name, "uid": claim.pod_uid, "address": claim.address},
    }


async def _read(content: aiohttp.StreamReader) -> bytes:
    """All of it, up to a byte more than is allowed: one `read` gives only what has arrived by then."""
    text = b""
    while len(text) <= _MOST_BYTES and (piece := await content.read(_MOST_BYTES + 1 - len(text))):
        text += piece
    return text
