"""The HTTP face: webhooks of GitHub, mint and revoke calls of Mooring. Who calls is known before anything is parsed."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from aiohttp import web

from hawser.clock import Clock
from mooring.client import AsyncMooring, RemoteError
from mooring.model.errors import InvalidInput
from mooring_github_actions.github import GitHubError
from mooring_github_actions.job import read_delivery, read_installation
from mooring_github_actions.reconciler import Reconciler, explain
from mooring_github_actions.runners import Runners, read_call
from mooring_github_actions.server import read_in_time
from mooring_github_actions.signatures import verify_bearer, verify_hmac, verify_webhook

log = structlog.get_logger()

MOST_BYTES = 1024 * 1024  # a workflow_job has about 20 KB; GitHub sends at most 25 MB
MOST_DELIVERIES = 10_000  # remembered


@dataclass(frozen=True, slots=True)
class Secrets:
    """Who may call. One of `mint_token` and `mint_key` is set, as `auth` of the pool's mint."""

    webhook: bytes = field(repr=False)
    installation: int  # the secret is that of the App, whose webhooks come from all of its installations
    mint_token: str = field(default="", repr=False)
    mint_key: bytes = field(default=b"", repr=False)


class Receiver:
    """The routes."""

    def __init__(
        self, secrets: Secrets, reconciler: Reconciler, runners: Runners, mooring: AsyncMooring, clock: Clock
    ) -> None:
        self._secrets = secrets
        self._reconciler = reconciler
        self._runners = runners
        self._mooring = mooring
        self._clock = clock
        self._deliveries: OrderedDict[str, None] = OrderedDict()

    def application(self) -> web.Application:
        """To be served."""
        application = web.Application(client_max_size=MOST_BYTES)
        application.add_routes(
            [
                web.post("/webhook", self.webhook),
                web.post("/mint", self.mint),
                web.post("/revoke", self.revoke),
                web.get("/healthz", self.healthz),
            ]
        )
        return application

    async def healthz(self, request: web.Request) -> web.Response:
        """It runs."""
        return web.json_response({"status": "ok"})

    async def webhook(self, request: web.Request) -> web.Response:
        """A delivery of GitHub. 202 as soon as it is noted: GitHub waits ten seconds."""
        body = await read_in_time(request)
        if not verify_webhook(self._secrets.webhook, request.headers.get("X-Hub-Signature-256", ""), body):
            return _refused(401, "signature", "X-Hub-Signature-256 does not fit; compare the secret of the App")
        if (event := request.headers.get("X-GitHub-Event", "")) != "workflow_job":
            return web.json_response({"ignored": f"event {event}"})
        delivery = request.headers.get("X-GitHub-Delivery", "")
        if delivery in self._deliveries:
            return web.json_response({"ignored": f"delivery {delivery} was received before"})
        try:
            found = json.loads(body)
            job, installation = read_delivery(found), read_installation(found)
        except ValueError as error:
            return _refused(400, "body", f"not JSON: {error}")
        except InvalidInput as error:
            return web.json_response(explain(error), status=422)
        if installation not in (None, self._secrets.installation):
            return web.json_response({"ignored": f"installation {installation}"})
        self._reconciler.report(job)
        if delivery:
            self._deliveries[delivery] = None
            if len(self._deliveries) > MOST_DELIVERIES:
                self._deliveries.popitem(last=False)
        return web.json_response({"job": job.id, "status": job.status.value}, status=202)

    async def mint(self, request: web.Request) -> web.Response:
        """A call of `spec.mint.url`: register a runner."""
        return await self._answer(request, self._runners.register)

    async def revoke(self, request: web.Request) -> web.Response:
        """A call of `spec.mint.revokeURL`: remove the runners of a claim that has ended."""
        return await self._answer(request, self._remove)

    async def _remove(self, call: dict[str, Any]) -> dict[str, Any]:
        if not self._runners.serves(call):
            return {}  # no runner was registered for it
        claim = await self._mooring.get_claim(str(call.get("claim")))
        claim_id, attempts, repository = read_call({**call, "payload": claim.payload})
        if not await self._runners.remove(repository, claim_id, attempts):
            raise GitHubError(422, "a runner still runs a job; ask again")
        return {}

    async def _answer(self, request: web.Request, act: Any) -> web.Response:
        body = await read_in_time(request)
        if not self._is_mooring(request.headers, body):
            return _refused(401, "credentials", "not the bearer token or signature of the pool's mint")
        try:
            call = json.loads(body)
            if not isinstance(call, dict):
                raise InvalidInput("body", call, "an object")
            return web.json_response(await act(call))
        except ValueError as error:
            return _refused(400, "body", f"not JSON: {error}")
        except InvalidInput as error:
            return web.json_response(explain(error), status=422)
        except (GitHubError, RemoteError) as error:
            log.warning("a call of Mooring failed", path=request.path, because=error.message)
            return web.json_response(explain(error), status=502)

    def _is_mooring(self, headers: Mapping[str, str], body: bytes) -> bool:
        if self._secrets.mint_key:
            return verify_hmac(self._secrets.mint_key, headers, body, self._clock.now())
        return bool(self._secrets.mint_token) and verify_bearer(self._secrets.mint_token, headers)


def _refused(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"code": code, "message": message}, status=status)
