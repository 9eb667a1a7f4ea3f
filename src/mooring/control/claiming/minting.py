"""The mint: a webhook that makes a worker's credentials when it is claimed. Its answer joins the claim's payload."""

import json
from typing import Any, Protocol

import aiohttp

from mooring.model.claim import Claim
from mooring.model.errors import MooringError
from mooring.model.pool import Pool

_MOST_BYTES = 256 * 1024


class MintFailed(MooringError):
    """The mint refused, or did not answer in time."""

    code = "mint_failed"


class Minter(Protocol):
    """Asks the mint of a pool."""

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        """The payload for the worker; None when the pool has no mint. Raises `MintFailed`."""
        ...


class WebhookMinter:
    """Asks over HTTP, once: a mint may not be idempotent.

    A handover that is taken up again after a crash has to ask again: under a new epoch, but for the same claim.
    By its id a mint can know the repeat.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def mint(self, pool: Pool, claim: Claim) -> dict[str, Any] | None:
        mint = pool.spec.mint
        if mint is None:
            return None
        session = self._session = self._session or aiohttp.ClientSession(trust_env=False)
        body = {
            "claim": claim.id,
            "epoch": claim.epoch,
            "owner": claim.owner,
            "pool": pool.key,
            "worker": {"name": claim.pod_name, "uid": claim.pod_uid, "address": claim.address},
        }
        timeout = aiohttp.ClientTimeout(total=mint.timeout_seconds)
        try:
            async with session.post(
                mint.url, json=body, headers={"Idempotency-Key": claim.id}, timeout=timeout, allow_redirects=False
            ) as answer:
                text = await _read(answer.content)
                if answer.status // 100 != 2:
                    raise MintFailed(f"the mint of {pool.key} answered {answer.status}", fix=f"look at {mint.url}")
                if len(text) > _MOST_BYTES:
                    raise MintFailed(f"the mint of {pool.key} answered more than {_MOST_BYTES} bytes")
                payload = json.loads(text) if text else {}
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise MintFailed(f"the mint of {pool.key} did not answer: {error!r}", fix=f"look at {mint.url}") from error
        if not isinstance(payload, dict):
            raise MintFailed(f"the mint of {pool.key} answered with something else than a JSON object")
        return payload

    async def close(self) -> None:
        """Give its connections back."""
        if self._session is not None:
            await self._session.close()


async def _read(content: aiohttp.StreamReader) -> bytes:
    """All of it, up to a byte more than is allowed: one `read` gives only what has arrived by then."""
    text = b""
    while len(text) <= _MOST_BYTES and (piece := await content.read(_MOST_BYTES + 1 - len(text))):
        text += piece
    return text
