"""GitHub's REST API, as one installation of the App: rate limits are respected, unchanged answers cost nothing."""

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import aiohttp

from hawser.clock import Clock
from mooring.model.errors import MooringError
from mooring_github_actions.app_token import AppKey

API_VERSION = "2022-11-28"
ANSWER_SECONDS = 20.0
PAGE = 100
MOST_PAGES = 50
MOST_REMEMBERED = 2000  # answers with an ETag
RENEW_BEFORE = timedelta(minutes=5)
FALLBACK_SECONDS = 60.0  # GitHub asks for a minute when it names no time


class GitHubError(MooringError):
    """GitHub refused, or did not answer. `status` is 0 without an answer."""

    code = "github"

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"GitHub: {message}", detail={"status": status})
        self.status = status


class RateLimited(GitHubError):
    """No request is sent before `until`."""

    def __init__(self, status: int, until: datetime) -> None:
        super().__init__(status, f"the rate limit is reached until {until:%H:%M:%S}Z")
        self.until = until


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was accepted."""

    status: int
    body: Any
    etag: str


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the App is installed. Without an organization, runners are registered at each repository."""

    api: str  # https://api.github.com
    id: int
    organization: str = ""


class GitHub:
    """One installation. Use it as a context manager."""

    def __init__(self, installation: Installation, key: AppKey, clock: Clock) -> None:
        self._installation = installation
        self._key = key
        self._clock = clock
        self._token = ""
        self._token_until = datetime.min.replace(tzinfo=UTC)
        self._limited_until = self._token_until
        self._remembered: OrderedDict[str, Answer] = OrderedDict()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "GitHub":
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()

    # --- runners -----------------------------------------------------------------------------------------------------
    async def generate_jitconfig(self, repository: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Register a runner for one job; its configuration and its id."""
        path = f"{self._scope(repository)}/actions/runners/generate-jitconfig"
        found: dict[str, Any] = (await self._request("POST", path, body)).body
        return found

    async def find_runners(self, repository: str, name: str) -> list[dict[str, Any]]:
        """The runners with exactly this name."""
        query = urlencode({"name": name, "per_page": PAGE})
        answer = await self._request("GET", f"{self._scope(repository)}/actions/runners?{query}")
        return [runner for runner in answer.body["runners"] if runner["name"] == name]

    async def remove_runner(self, repository: str, runner: int) -> bool:
        """Whether it is gone. GitHub refuses to remove a runner that runs a job: then it stays."""
        try:
            await self._request("DELETE", f"{self._scope(repository)}/actions/runners/{runner}")
        except GitHubError as error:
            if error.status == 404:
                return True
            if error.status == 422:
                return False
            raise
        return True

    def _scope(self, repository: str) -> str:
        organization = self._installation.organization
        return f"/orgs/{organization}" if organization else f"/repos/{repository}"

    # --- jobs --------------------------------------------------------------------------------------------------------
    async def get_job(self, repository: str, job: int) -> dict[str, Any] | None:
        """One job; None if GitHub does not know it any more."""
        try:
            found: dict[str, Any] = (await self._request("GET", f"/repos/{repository}/actions/jobs/{job}")).body
        except GitHubError as error:
            if error.status == 404:
                return None
            raise
        return found

    async def list_repositories(self) -> AsyncIterator[str]:
        """Names of all repositories of the installation."""
        async for repository in self._pages("/installation/repositories", "repositories"):
            yield repository["full_name"]

    async def list_unfinished(self, repository: str) -> AsyncIterator[dict[str, Any]]:
        """The jobs of every run of a repository that is queued or in progress."""
        for status in ("queued", "in_progress"):
            async for run in self._pages(f"/repos/{repository}/actions/runs?status={status}", "workflow_runs"):
                path = f"/repos/{repository}/actions/runs/{run['id']}/jobs?filter=latest"
                async for job in self._pages(path, "jobs"):
                    yield job

    async def _pages(self, path: str, field: str) -> AsyncIterator[dict[str, Any]]:
        joint = "&" if "?" in path else "?"
        for page in range(1, MOST_PAGES + 1):
            items = (await self._request("GET", f"{path}{joint}per_page={PAGE}&page={page}")).body[field]
            for item in items:
                yield item
            if len(items) < PAGE:
                return

    # --- requests ----------------------------------------------------------------------------------------------------
    async def _request(self, method: str, path: str, body: object = None) -> Answer:
        known = self._remembered.get(path) if method == "GET" else None
        headers = {"Authorization": f"Bearer {await self._installation_token()}"}
        answer = await self._send(method, path, {**headers, **({"If-None-Match": known.etag} if known else {})}, body)
        if answer.status == 304 and known is not None:
            self._remembered.move_to_end(path)
            return known
        if answer.status == 401:
            self._token = ""  # revoked: the next request asks for another one
        if answer.status >= 300:
            raise GitHubError(answer.status, f"{method} {path}: {answer.status} {_message(answer.body)}")
        if method == "GET" and answer.etag:
            self._remembered[path] = answer
            if len(self._remembered) > MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return answer

    async def _installation_token(self) -> str:
        now = self._clock.now()
        if not self._token or now >= self._token_until - RENEW_BEFORE:
            path = f"/app/installations/{self._installation.id}/access_tokens"
            answer = await self._send("POST", path, {"Authorization": f"Bearer {self._key.sign(now)}"}, None)
            if answer.status != 201:
                raise GitHubError(answer.status, f"no token for the installation: {_message(answer.body)}")
            self._token = answer.body["token"]
            self._token_until = datetime.fromisoformat(answer.body["expires_at"])
        return self._token

    async def _send(self, method: str, path: str, headers: Mapping[str, str], body: object) -> Answer:
        assert self._session is not None, "used as a context manager"
        if (now := self._clock.now()) < self._limited_until:
            raise RateLimited(429, self._limited_until)
        sent = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION, **headers}
        try:
            async with self._session.request(
                method, self._installation.api + path, headers=sent, json=body, allow_redirects=False
            ) as answer:
                raw = await answer.read()
        except (aiohttp.ClientError, OSError) as error:
            raise GitHubError(0, f"{method} {path}: {error or type(error).__name__}") from error
        if (until := find_limit(answer.status, answer.headers, now)) is not None:
            self._limited_until = until
            if answer.status in (403, 429):
                raise RateLimited(answer.status, until)
        try:
            return Answer(answer.status, json.loads(raw) if raw else None, answer.headers.get("ETag", ""))
        except ValueError as error:
            raise GitHubError(answer.status, f"{method} {path}: the answer is not JSON") from error


def find_limit(status: int, headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Until when no request may be sent; None if one may."""
    if status in (403, 429) and (seconds := headers.get("Retry-After", "")).isdecimal():
        return now + timedelta(seconds=int(seconds))
    if headers.get("X-RateLimit-Remaining") == "0":
        reset = headers.get("X-RateLimit-Reset", "")
        return (
            datetime.fromtimestamp(int(reset), UTC) if reset.isdecimal() else now + timedelta(seconds=FALLBACK_SECONDS)
        )
    return now + timedelta(seconds=FALLBACK_SECONDS) if status == 429 else None


def _message(body: object) -> str:
    return str(body.get("message", "")) if isinstance(body, dict) else ""
