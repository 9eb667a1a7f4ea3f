"""A GitHub for demos and tests: one repository with jobs, runners that fetch them, webhooks, and the REST routes used.

GitHub decides which runner runs which job: here as there, the oldest queued one with the runner's labels.
"""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import aiohttp
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from .samples import load, make_sample  # type: ignore[import-not-found]

REPOSITORY = "acme/app"
APP, INSTALLATION = "12345", 678
SECRET = b"webhook-secret"
TOKEN_LIFE = timedelta(hours=1)


@dataclass(slots=True)
class FakeJob:
    """A job, and how long its steps take."""

    id: int
    labels: list[str]
    seconds: float
    status: str = "queued"
    conclusion: str | None = None
    runner: str | None = None
    completed_at: str | None = None
    runs: int = 0
    held: bool = False  # its steps do not end before it is let go


@dataclass(slots=True)
class FakeRunner:
    """A runner that was registered for one job."""

    id: int
    name: str
    labels: list[str]
    job: int | None = None
    online: bool = False


Delivery = Callable[[dict[str, str], bytes], object]


class FakeGitHub:
    """`deliver` gets every webhook as (headers, body); it may send, keep, repeat or reorder them."""

    def __init__(self) -> None:
        self.jobs: dict[int, FakeJob] = {}
        self.runners: dict[int, FakeRunner] = {}
        self.requests: list[str] = []
        self.remaining = 5000
        self.tokens = 0
        self.url = ""
        self.deliver: Delivery = lambda headers, body: None
        self.key = rsa.generate_private_key(65537, 2048)
        self._ids = count(1)
        self._changed = asyncio.Event()

    @property
    def pem(self) -> bytes:
        """The private key of the App, as GitHub gives it."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())

    # --- what people and runners do ----------------------------------------------------------------------------------
    def push(
        self, labels: Sequence[str] = ("self-hosted", "linux"), seconds: float = 0.2, *, held: bool = False
    ) -> FakeJob:
        """Somebody pushes, and a job is queued."""
        job = FakeJob(next(self._ids), list(labels), seconds, held=held)
        self.jobs[job.id] = job
        self._tell(job, "queued")
        return job

    def cancel(self, job: FakeJob) -> None:
        """Somebody cancels a job."""
        self._complete(job, "cancelled")

    def take(self, runner: FakeRunner) -> FakeJob | None:
        """The oldest queued job for a runner."""
        if runner.job is not None:
            return None
        for job in self.jobs.values():
            if job.status == "queued" and set(runner.labels) >= {label.lower() for label in job.labels}:
                job.status, job.runner, job.runs, runner.job = "in_progress", runner.name, job.runs + 1, job.id
                self._tell(job, "in_progress")
                return job
        return None

    def finish(self, runner: FakeRunner) -> None:
        """A runner has run its job; GitHub forgets a runner that was made for one job."""
        job = self.jobs[runner.job or 0]
        self.runners.pop(runner.id, None)
        if job.status == "in_progress":
            self._complete(job, "success")

    def _complete(self, job: FakeJob, conclusion: str) -> None:
        job.status, job.conclusion = "completed", conclusion
        job.completed_at = _stamp()
        self._tell(job, "completed")

    def _tell(self, job: FakeJob, action: str) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        body = json.dumps(self.webhook(job, action)).encode()
        headers = {
            "X-GitHub-Event": "workflow_job",
            "X-GitHub-Delivery": f"delivery-{next(self._ids)}",
            "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest(),
            "Content-Type": "application/json",
        }
        self.deliver(headers, body)

    # --- bodies ------------------------------------------------------------------------------------------------------
    def webhook(self, job: FakeJob, action: str) -> dict[str, Any]:
        """The payload of a delivery about the job as it is now."""
        made: dict[str, Any] = make_sample("webhooks", load("webhooks")["events"][action])
        known = {"id": job.id, "run_id": job.id, "labels": job.labels, "runner_name": job.runner, "status": job.status}
        made["workflow_job"].update(known, conclusion=job.conclusion, completed_at=job.completed_at)
        if job.runner is not None:
            made["workflow_job"].update(runner_id=1, runner_group_id=1, runner_group_name="Default")
        made["repository"].update(full_name=REPOSITORY)
        made["installation"] = {"id": INSTALLATION, "node_id": "I_1"}
        return made

    def job_body(self, job: FakeJob) -> dict[str, Any]:
        """As the REST API shows it."""
        body: dict[str, Any] = make_sample(
            "rest",
            {"$ref": "#/definitions/job"},
            id=job.id,
            run_id=job.id,
            labels=job.labels,
            status=job.status,
            conclusion=job.conclusion,
            completed_at=job.completed_at,
            runner_name=job.runner,
        )
        return body

    # --- routes ------------------------------------------------------------------------------------------------------
    def application(self, *middlewares: Any) -> web.Application:
        """The REST API, and what stands for GitHub's runner service."""
        application = web.Application(middlewares=[self._count, *middlewares])
        scope = "/repos/{owner}/{repo}/actions"
        application.add_routes(
            [
                web.post("/app/installations/{installation_id}/access_tokens", self._token),
                web.get("/installation/repositories", self._repositories),
                web.post(f"{scope}/runners/generate-jitconfig", self._jitconfig),
                web.get(f"{scope}/runners", self._runners),
                web.delete(f"{scope}/runners/{{runner_id}}", self._remove_runner),
                web.get(f"{scope}/runs", self._runs),
                web.get(f"{scope}/runs/{{run_id}}/jobs", self._jobs),
                web.get(f"{scope}/jobs/{{job_id}}", self._job),
                web.post("/_runner/{id}/take", self._runner_takes),
                web.post("/_runner/{id}/finish", self._runner_finishes),
            ]
        )
        return application

    @web.middleware
    async def _count(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path_qs}")
        if request.path.startswith("/_runner"):
            return await handler(request)
        if not request.path.startswith("/app/") and request.headers.get("Authorization") != f"Bearer ghs_{self.tokens}":
            return _error(401, "Bad credentials")
        if self.remaining <= 0:
            headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(datetime.now(UTC).timestamp()) + 1)}
            return web.json_response({"message": "API rate limit exceeded"}, status=403, headers=headers)
        answer = await handler(request)
        if request.method == "GET" and answer.status == 200:
            answer.headers["ETag"] = etag = f'"{hashlib.sha256(answer.body).hexdigest()}"'
            if request.headers.get("If-None-Match") == etag:
                return web.Response(status=304, headers={"ETag": etag})
        self.remaining -= 1
        return answer

    async def _token(self, request: web.Request) -> web.Response:
        if not _is_signed(self.key, request.headers.get("Authorization", "")):
            return _error(401, "A JSON web token could not be decoded")
        self.tokens += 1
        expires = (datetime.now(UTC) + TOKEN_LIFE).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = make_sample(
            "rest", {"$ref": "#/definitions/installation-token"}, token=f"ghs_{self.tokens}", expires_at=expires
        )
        return web.json_response(body, status=201)

    async def _repositories(self, request: web.Request) -> web.Response:
        one = make_sample("rest", {"$ref": "#/definitions/repository"}, full_name=REPOSITORY)
        return web.json_response({"total_count": 1, "repositories": [one]})

    async def _runs(self, request: web.Request) -> web.Response:
        wanted = request.query.get("status")
        runs = [
            make_sample("rest", {"$ref": "#/definitions/workflow-run"}, id=job.id, status=job.status)
            for job in self.jobs.values()
            if job.status == wanted
        ]
        return web.json_response({"total_count": len(runs), "workflow_runs": runs})

    async def _jobs(self, request: web.Request) -> web.Response:
        found = [self.job_body(job) for job in self.jobs.values() if job.id == int(request.match_info["run_id"])]
        return web.json_response({"total_count": len(found), "jobs": found})

    async def _job(self, request: web.Request) -> web.Response:
        job = self.jobs.get(int(request.match_info["job_id"]))
        return web.json_response(self.job_body(job)) if job else _error(404, "Not Found")

    async def _jitconfig(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        if any(runner.name == wanted["name"] for runner in self.runners.values()):
            return _error(409, "Already exists - A runner with the name already exists.")
        runner = FakeRunner(next(self._ids), wanted["name"], wanted["labels"])
        self.runners[runner.id] = runner
        config = base64.b64encode(json.dumps({"url": self.url, "runner": runner.id}).encode()).decode()
        body = {"runner": _runner_body(runner), "encoded_jit_config": config}
        return web.json_response(body, status=201)

    async def _runners(self, request: web.Request) -> web.Response:
        name = request.query.get("name")
        found = [_runner_body(runner) for runner in self.runners.values() if name in (None, runner.name)]
        return web.json_response({"total_count": len(found), "runners": found})

    async def _remove_runner(self, request: web.Request) -> web.Response:
        runner = self.runners.get(int(request.match_info["runner_id"]))
        if runner is None:
            return _error(404, "Not Found")
        if runner.job is not None:
            return _error(422, f"Runner {runner.name} is currently running a job and cannot be deleted.")
        del self.runners[runner.id]
        return web.Response(status=204)

    async def _runner_takes(self, request: web.Request) -> web.Response:
        """Waits a second for a job."""
        runner = self.runners.get(int(request.match_info["id"]))
        if runner is None:
            return _error(404, "the runner is not registered any more")
        runner.online = True
        changed = self._changed
        if (job := self.take(runner)) is None:
            try:
                async with asyncio.timeout(1):
                    await changed.wait()
            except TimeoutError:
                return web.json_response({})
            job = self.take(runner)
        return web.json_response({"job": job.id, "seconds": job.seconds} if job else {})

    async def _runner_finishes(self, request: web.Request) -> web.Response:
        runner = self.runners.get(int(request.match_info["id"]))
        if runner is not None and self.jobs[runner.job or 0].held:
            return web.json_response({"wait": True})
        if runner is not None:
            self.finish(runner)
        return web.json_response({})


def post_to(url: str, tasks: set["asyncio.Task[None]"]) -> Delivery:
    """Deliver webhooks to a receiver, once, as GitHub does: a delivery that fails is not repeated."""

    async def post(headers: dict[str, str], body: bytes) -> None:
        try:
            async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers):
                return
        except aiohttp.ClientError:
            return

    def deliver(headers: dict[str, str], body: bytes) -> None:
        task = asyncio.create_task(post(headers, body))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return deliver


def _runner_body(runner: FakeRunner) -> dict[str, Any]:
    labels = [{"id": number, "name": name, "type": "custom"} for number, name in enumerate(runner.labels, 1)]
    status = "online" if runner.online else "offline"
    known = {"id": runner.id, "name": runner.name, "os": "linux", "labels": labels, "status": status}
    return {**known, "busy": runner.job is not None}


def _is_signed(key: rsa.RSAPrivateKey, authorization: str) -> bool:
    head, _, token = authorization.partition(" ")
    parts = token.split(".")
    if head != "Bearer" or len(parts) != 3:
        return False
    try:
        signed = f"{parts[0]}.{parts[1]}".encode()
        key.public_key().verify(_decode(parts[2]), signed, padding.PKCS1v15(), SHA256())
        claims, now = json.loads(_decode(parts[1])), datetime.now(UTC).timestamp()
    except (InvalidSignature, ValueError):
        return False
    return claims["iss"] == APP and claims["iat"] <= now < claims["exp"] <= claims["iat"] + 600


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"message": message, "documentation_url": "https://docs.github.com/rest"}, status=status)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
