"""Getting a claim, blocking: one request that may be repeated safely, and its queue shown while it waits."""

import contextlib
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from mooring.client.connection import Connection
from mooring.client.errors import ClaimTimeout, RemoteError, Unavailable, read_why
from mooring.client.leases import withdraw
from mooring.client.leasing import (
    CLOSE_SECONDS,
    LOOK_SECONDS,
    MOST_KEYS,
    Grant,
    Waiting,
    Wish,
    claim_path,
    ended_at_once,
    explain_wait,
    out_of_time,
    read_grant,
)
from mooring.client.patience import Patience
from mooring.clock import Clock, Entropy
from mooring.model.why import Why

log = logging.getLogger("mooring.client")

T = TypeVar("T")
OnWait = Callable[[Waiting], object]

ANSWER_SECONDS = 30.0
LATE_SECONDS = {"queued": 2.0, "claimed": 30.0}  # how long after the wait a claim may still be on its way


class Asking:
    """One claim, from the wish to a worker. `prompt` says afterwards whether the first answer held it at once."""

    def __init__(
        self, connection: Connection, wish: Wish, on_wait: OnWait | None, clock: Clock, entropy: Entropy
    ) -> None:
        self._connection = connection
        self._own_key = not wish.key
        self._wish = wish.under(wish.key or entropy.uuid())
        self._on_wait = on_wait
        self._clock = clock
        self._entropy = entropy
        self._sleeper = threading.Event()
        self._started, self._since = clock.monotonic(), clock.now()
        self._deadline = self._started + wish.wait_seconds
        self.prompt = wish.wait_seconds == 0

    def run(self) -> Grant:
        """A claim that runs. Whatever else happens, no claim is left behind."""
        try:
            return self._until_running()
        except ClaimTimeout as error:
            error.why = read_why(error.detail.get("why")) or self._explain()
            raise
        except Unavailable:
            self._abandon()
            raise
        except RemoteError:
            raise  # a definite no: there is nothing to give back
        except BaseException:
            self._abandon()
            raise

    def _until_running(self) -> Grant:
        for _ in range(MOST_KEYS):
            grant = self._settle(self._post())
            if grant.state == "running":
                return grant
            if not self._own_key:
                break
            # The claim under our key failed on the server's side. Nobody else knows the key: take a new one.
            self._wish = self._wish.under(self._entropy.uuid())
        raise ended_at_once(self._wish, grant)

    def _post(self) -> Grant:
        patience = Patience(self._entropy)
        while True:
            try:
                return read_grant(self._request())
            except Unavailable as error:
                self.prompt = False
                self._sleeper.wait(patience.pause_seconds(error, self._clock.monotonic()))
            with contextlib.suppress(Unavailable):  # the request is then repeated, and tells
                if (found := self._find()) is not None:
                    return found

    def _request(self) -> dict[str, Any]:
        left = max(0.0, self._deadline - self._clock.monotonic())
        call = partial(
            self._connection.request,
            "POST",
            self._wish.path,
            body=self._wish.body(left),
            timeout_seconds=left + ANSWER_SECONDS,
        )
        if left == 0:
            return dict(call())
        asking = _BackgroundCall(call)
        pause = LOOK_SECONDS / 4
        while not asking.wait(pause):
            pause = LOOK_SECONDS
            self._tell()
        return dict(asking.result())

    def _settle(self, grant: Grant) -> Grant:
        """A repeated request may find its claim still on its way: then look until it runs or is over."""
        patience = Patience(self._entropy)
        while grant.state in LATE_SECONDS:
            self.prompt = False
            if self._clock.monotonic() > self._deadline + LATE_SECONDS[grant.state]:
                withdraw(self._connection, grant)
                raise out_of_time(self._wish, grant.id)
            self._tell()
            self._sleeper.wait(LOOK_SECONDS / 4)
            try:
                grant = self._look_again(grant)
                patience.reset()
            except Unavailable as error:
                self._sleeper.wait(patience.pause_seconds(error, self._clock.monotonic()))
        if grant.state == "expired" and grant.worker is None:
            raise out_of_time(self._wish, grant.id)
        return grant

    def _look_again(self, grant: Grant) -> Grant:
        """One that has a worker and does not run may have lost its control plane half way: the request, repeated, makes
        another one take it up. One that waits is only looked at."""
        if grant.state == "claimed":
            try:
                return read_grant(self._request())
            except RemoteError as error:
                if error.status != 409:
                    raise
        return read_grant(self._connection.get(claim_path(grant.id)))

    def _tell(self) -> None:
        if self._on_wait is None:
            return
        found = None
        with contextlib.suppress(Unavailable):
            found = self._find()
        position, why = (found.position, found.why) if found is not None else (None, None)
        waited = self._clock.monotonic() - self._started
        self._on_wait(Waiting(position, waited, why or self._explain(position)))

    def _explain(self, position: int | None = None) -> Why:
        pool = None
        with contextlib.suppress(RemoteError):
            pool = self._connection.request("GET", self._wish.pool_path, timeout_seconds=CLOSE_SECONDS)
        return explain_wait(self._wish, pool, position, self._since)

    def _find(self) -> Grant | None:
        """The open claim under our key."""
        items = self._connection.get("/v1/claims", self._wish.query)["items"]
        return next((grant for grant in map(read_grant, items) if grant.key == self._wish.key), None)

    def _abandon(self) -> None:
        """Give back what the request may have made; where that fails too, the server's ttl ends it."""
        try:
            if (found := self._find()) is not None:
                withdraw(self._connection, found)
        except RemoteError as error:
            log.warning("a claim under key %s may be left until its ttl ends: %s", self._wish.key, error.message)


class _BackgroundCall(Generic[T]):
    """A call that blocks, in a thread that nobody has to wait for: a caller can be interrupted."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._done = threading.Event()
        self._answer: list[T] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="mooring-claim", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether it is done by then."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """What it answered or raised."""
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def _run(self) -> None:
        try:
            self._answer.append(self._call())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that asked
            self._error = error
        self._done.set()
