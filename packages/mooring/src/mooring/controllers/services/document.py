"""Asking a service for its OpenAPI document: its own addresses only, once, for five seconds and five megabytes."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import aiohttp
import structlog

from mooring.model.openapi import NotADocument, parse_document
from mooring.model.service_observations import Answer, Outcome
from mooring.planning.destinations import OutgoingPolicy
from mooring.planning.services.addresses import refuse_foreign

log = structlog.get_logger()

MOST_BYTES = 5 * 1024 * 1024
MOST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Question:
    """Where a document is said to be; `own` are the addresses that the cluster says the service has."""

    address: str
    port: int
    path: str
    own: Collection[str]

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.port}{self.path}"


class Documents(Protocol):
    """Answers with whatever stands at the other end; never raises for what that does."""

    async def ask(self, question: Question) -> Answer: ...

    async def close(self) -> None: ...


class HttpDocuments:
    """Over HTTP. Nothing of the environment (proxies, cookies, credentials) goes with a question."""

    def __init__(self, policy: OutgoingPolicy) -> None:
        self._policy = policy
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, question: Question) -> Answer:
        if why := refuse_foreign(question.address, question.own, self._policy.loopback):
            return Answer(Outcome.FOREIGN_ADDRESS, why)
        session = self._session = self._session or aiohttp.ClientSession(
            trust_env=False, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mooring"}
        try:
            async with (
                asyncio.timeout(MOST_SECONDS),
                session.get(question.url, headers=headers, allow_redirects=False) as reply,
            ):
                return await _read(reply)
        except TimeoutError:
            return Answer(Outcome.NO_ANSWER, f"no whole answer within {MOST_SECONDS:.0f} s")
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, ConnectionRefusedError):
                return Answer(Outcome.NOBODY_LISTENS, "the connection was refused")
            return Answer(Outcome.NO_ANSWER, error.strerror or "there is no way there")
        except (aiohttp.ClientError, ValueError) as error:
            return Answer(Outcome.NO_ANSWER, f"the answer was not HTTP: {type(error).__name__}")

    async def close(self) -> None:
        """Give its connections back."""
        if self._session is not None:
            await self._session.close()


async def _read(reply: aiohttp.ClientResponse) -> Answer:
    if 300 <= reply.status < 400:
        return Answer(Outcome.REDIRECT, f"redirects with {reply.status}", reply.status)
    if reply.status != 200:
        return Answer(Outcome.BAD_STATUS, f"answered {reply.status}", reply.status)
    body = bytearray()
    async for chunk in reply.content.iter_any():
        body += chunk
        if len(body) > MOST_BYTES:
            return Answer(Outcome.TOO_LARGE, f"it is longer than {MOST_BYTES // 1024**2} MB", reply.status)
    return read_answer(bytes(body))


def read_answer(body: bytes) -> Answer:
    """The body of a 200, parsed. A body that is not a document is an answer too, and never an error of Mooring."""
    try:
        document = parse_document(body)
    except NotADocument as problem:
        return Answer(Outcome.NOT_A_DOCUMENT, problem.message, 200)
    except Exception as error:
        log.exception("a document could not be read", size=len(body))
        return Answer(Outcome.NOT_A_DOCUMENT, f"it cannot be read: {type(error).__name__}", 200)
    return Answer(Outcome.DOCUMENT, "", 200, document, body)
