"""HTTP to Mooring from an event loop. aiohttp is imported when the first connection is opened, not before."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from mooring.client.connection import Endpoint
from mooring.client.errors import Unreachable, read_error

if TYPE_CHECKING:
    import aiohttp


class AsyncConnection:
    """Plain requests, no retries; open while its block is entered."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        import aiohttp

        headers = {"Authorization": f"Bearer {self._endpoint.token}", "Accept": "application/json"}
        # A kept connection may be closed by the server just when a renewal is sent on it.
        connector = aiohttp.TCPConnector(force_close=True)
        self._session = aiohttp.ClientSession(headers=headers, connector=connector, trust_env=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The decoded JSON of a GET."""
        return await self.request("GET", path, query)

    async def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        timeout_seconds: float = 30.0,
    ) -> Any:
        """The decoded JSON of an answer, None for an empty one; raises `RemoteError` or `Unreachable`."""
        import aiohttp
        from yarl import URL

        assert self._session is not None, "the connection is not open"
        target = URL(self._endpoint.url + path, encoded=True).update_query(dict(query or {}))
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        try:
            async with self._session.request(
                method, target, json=body, timeout=timeout, allow_redirects=False
            ) as answer:
                payload = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            told = f"{self._endpoint.url} does not answer: {error!r}"
            raise Unreachable(told, fix="is it running? start it with 'mooring up'") from error
        if answer.status >= 400:
            raise read_error(answer.status, payload)
        try:
            return json.loads(payload) if payload else None
        except ValueError as error:
            raise read_error(answer.status, payload) from error
