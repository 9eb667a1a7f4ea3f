"""A client of the page, for the terminal: sends a query, follows it, and returns the hits."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from hawser.clock import Clock
from mooring.model.errors import Refused, Unavailable

_LOOK_SECONDS = 0.5
_ENDED = ("done", "failed", "not submitted")
_PROGRAM = {"Accept": "application/json"}  # errors come as JSON, not as a page


@dataclass(slots=True)
class PageClient:
    """Talks to one page."""

    session: aiohttp.ClientSession
    url: str
    clock: Clock

    async def search(self, search: str, text: str, report: Callable[[str], None], seconds: float) -> str:
        """The hits as a table."""
        await self._submit(search, text)
        deadline = self.clock.monotonic() + seconds
        while True:
            look = await self._look(search)
            line = f"{search}: {look['state']}, {look['done']}/{look['total']} steps"
            report(line)
            if look["state"] == "done":
                return await self._hits(search)
            if look["state"] in _ENDED:
                raise Refused(f"{line}: {look['message']}", fix="see the steps: mooring submissions -n blast")
            if self.clock.monotonic() > deadline:
                raise Unavailable(f"{line}, after {seconds:.0f} s: {look['message']}")
            await self.clock.sleep(_LOOK_SECONDS)

    async def _submit(self, search: str, text: str) -> None:
        status, answer = await self._send("POST", "/searches", {"search": search, "query": text})
        if status != 303:
            raise Refused(_explain(status, answer), fix="correct the query, or see /healthz and the log of the page")

    async def _look(self, search: str) -> dict[str, Any]:
        status, answer = await self._send("GET", f"/searches/{search}.json")
        if status != 200:
            raise Unavailable(_explain(status, answer))
        found: dict[str, Any] = json.loads(answer)
        return found

    async def _hits(self, search: str) -> str:
        status, answer = await self._send("GET", f"/searches/{search}/hits.tsv")
        if status != 200:
            raise Unavailable(_explain(status, answer))
        return answer

    async def _send(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        try:
            async with self.session.request(
                method, self.url + path, data=form, headers=_PROGRAM, allow_redirects=False
            ) as answer:
                return answer.status, await answer.text()
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(
                f"{self.url} does not answer: {error}", fix="is it running? mooring-blast page"
            ) from error


def _explain(status: int, answer: str) -> str:
    """What went wrong, in the words of the page; a proxy before it may answer anything."""
    try:
        return f"the page answers {status}: {json.loads(answer)['message']}"
    except (ValueError, KeyError, TypeError):
        return f"the page answers {status}"
