"""The blocking SDK: claim a worker as a context manager. A thread renews the claim; leaving the block releases it."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from mooring.client.blocking_runtime import BlockingRuntime, complete
from mooring.client.claim import HeldClaim
from mooring.client.connection import CaFile, Endpoint, StateFolder, find_endpoint
from mooring.client.durations import Duration, parse_seconds
from mooring.client.errors import LeaseLost
from mooring.client.operations import Operations
from mooring.client.pod_commands import ClusterFlags, CommandResult, PodCommands
from mooring.client.records import ClaimView, PoolView, SessionResult, WorkerView
from mooring.client.request import ClaimOptions, EnqueueOptions, OnWait, RunOptions, make_request, require_key
from mooring.client.safe_run import SafeOptions, SafePolicy, SafeRun

T = TypeVar("T")


class Claim(HeldClaim):
    """A worker for the time of a block. Its properties are set once the block is entered."""

    def close(self) -> None:
        """Release the worker. Takes about five seconds at most; if it fails, the server ends the claim with its ttl."""
        complete(self._close())

    def exec(self, command: Sequence[str], *, input: str = "", **cluster: Unpack[ClusterFlags]) -> CommandResult:
        """Run a command in the worker's pod, with kubectl and the rights of the caller; `input` is its stdin.

        When the claim is lost, kubectl is ended and `LeaseLost` is raised. A process that stays in the pod ends with
        the pod. Options: `container`, `kubeconfig`, `context`.
        """
        return complete(self._exec(command, input, cluster))

    def logs(self, *, lines: int = 100, previous: bool = False, **cluster: Unpack[ClusterFlags]) -> str:
        """The last lines of the log of the worker's pod; `previous` is of the container before its last restart.

        Options: `container`, `kubeconfig`, `context`.
        """
        return complete(self._logs(lines, previous, cluster))

    def __enter__(self) -> Self:
        complete(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._report_loss(error)


class Mooring:
    """Creates claims. The address and the token are arguments, else `MOORING_URL` and `MOORING_TOKEN`, else those of
    the state folder, of `mooring login`, or of the pod. `ca` is a file with CA certificates for HTTPS, else
    `MOORING_CA`, else those of the system."""

    def __init__(self, url: str = "", token: str = "", *, state: StateFolder = None, ca: CaFile = None) -> None:
        self._reach(find_endpoint(url, token, state, ca), state)

    @classmethod
    def at(cls, endpoint: Endpoint) -> Self:
        """For an endpoint that was found before."""
        made = cls.__new__(cls)
        made._reach(endpoint)
        return made

    def _reach(self, endpoint: Endpoint, state: StateFolder = None) -> None:
        self._url = endpoint.url
        self._runtime = BlockingRuntime(endpoint)
        self._operations = Operations(self._runtime)
        self._pods = PodCommands(self._runtime, endpoint, state)

    def claim(
        self,
        pool: str,
        *,
        owner: str = "",
        ttl: Duration = "5m",
        wait: Duration = 0,
        key: str = "",
        on_wait: OnWait | None = None,
        **options: Unpack[ClaimOptions],
    ) -> Claim:
        """A claim on a worker of `pool` (`namespace/name`). The request is sent when the block is entered.

        Without `owner` it is the caller's own; another one needs the right to `impersonate workerpools/claims`.

        Options: `priority` (default 0), `retryable` (default False), `detached` (default False: the claim loses its
        place 20 seconds after this process is gone), `payload`.
        """
        request = make_request(pool, owner, ttl, wait, key=key, **options)
        return Claim(self._runtime, lambda: self._operations.acquire(request, on_wait), self._pods)

    def attach(self, claim_id: str) -> Claim:
        """Take over a claim that was detached, also by another process: it is renewed and released here."""
        return Claim(self._runtime, lambda: self._operations.attach(claim_id), self._pods)

    def enqueue(
        self,
        pool: str,
        *,
        key: str,
        owner: str = "",
        ttl: Duration = "5m",
        wait: Duration = "1h",
        **options: Unpack[EnqueueOptions],
    ) -> ClaimView:
        """Put a claim into the queue of a pool whose workers poll, and return: no client has to wait for it.

        A call with the same `key` finds the same claim, with its worker, or how it ended; one whose `wait` was over is
        queued again. Options: `priority` (default 0), `retryable` (default False), `payload`.
        """
        request = make_request(pool, owner, ttl, wait, key=require_key(key), **options)
        return complete(self._operations.enqueue(request))

    def get_claim(self, claim_id: str) -> ClaimView:
        """A claim as it is now; epoch and payload only if the caller holds it."""
        return complete(self._operations.get_claim(claim_id))

    def run(
        self,
        pool: str,
        *,
        payload: Mapping[str, Any],
        owner: str = "",
        ttl: Duration = "5m",
        wait: Duration = "5m",
        timeout: Duration = "1h",
        **options: Unpack[RunOptions],
    ) -> SessionResult:
        """Run one session on a worker that polls: it gets `payload`, and its exit code and last output come back.

        The worker keeps the claim alive. When it is lost and the claim is `retryable`, another worker starts over.
        Options: `key`, `priority` (default 0), `retryable` (default False), `detached` (default False), `on_wait`.
        """
        on_wait = options.pop("on_wait", None)
        request = make_request(pool, owner, ttl, wait, payload=payload, **options)
        return complete(self._operations.run(request, on_wait, parse_seconds("timeout", timeout)))

    def run_safe(
        self,
        pool: str,
        work: Callable[[Claim], T],
        *,
        owner: str = "",
        attempts: int = 3,
        **options: Unpack[SafeOptions],
    ) -> T:
        """Call `work(claim)` while a worker is held, and again under a new claim when the worker is drained or lost.

        At most `attempts` times, and never after `claim.commit()`. When the work raises one of `connection_errors`
        (default `OSError`), it waits for `doubt` (default 30 s) whether its worker turns out to be lost.
        Further options: `ttl` (default 5m), `wait` (default 5m), `key`, `priority`, `detached`, `on_wait`.
        """
        given: dict[str, Any] = {"ttl": "5m", "wait": "5m", **options}
        run = SafeRun(SafePolicy.take_from(given, attempts), given.pop("key", ""))

        async def call(claim: Claim) -> T:
            return work(claim)

        async def attempt(claim: Claim) -> T:
            outcome = []
            try:
                with claim:
                    outcome.append(await run.judge(claim, call))
            except LeaseLost:
                if not (outcome and claim.committed):
                    raise
            return outcome[0]

        return complete(run.repeat(lambda key: self.claim(pool, owner=owner, key=key, **given), attempt))

    def release(self, claim_id: str, epoch: int | None = None, *, reason: str = "") -> None:
        """Release a claim. With `epoch`, only while the claim has that epoch. Without, it is taken from its holder:
        that is audited, and the holder gets the reason."""
        complete(self._operations.release(claim_id, epoch, reason))

    def pools(self, namespace: str = "") -> list[PoolView]:
        """Pools with their workers by state, and why they are ready or not."""
        return complete(self._operations.pools(namespace))

    def workers(self, pool: str = "", *, node: str = "", state: str = "") -> list[WorkerView]:
        """Workers; only those of a pool (`namespace/name`), on a node, or in a state."""
        return complete(self._operations.workers(pool, node, state))

    def claims(self, pool: str = "", *, owner: str = "", limit: int = 100) -> list[ClaimView]:
        """Open claims, newest first; only those of a pool or an owner."""
        return complete(self._operations.claims(pool, owner, limit))

    def find(self, claim_id: str) -> ClaimView | None:
        """The claim as it is now, open or ended; None if there is no such claim, or the caller may not see it."""
        return complete(self._operations.find(claim_id))

    def result(self, claim: ClaimView) -> SessionResult | None:
        """What the worker of an ended claim reported; None if it did not. Only workers that poll do."""
        return complete(self._operations.result(claim))

    def __repr__(self) -> str:
        return f"<Mooring at {self._url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open between requests."""
