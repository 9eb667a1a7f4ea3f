"""The blocking SDK: claim a worker as a context manager. Renewed in the background, given back at the end."""

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from mooring.client.asking import Asking, OnWait
from mooring.client.connection import Connection, find_endpoint
from mooring.client.durations import Duration, parse_seconds
from mooring.client.errors import RemoteError, Unavailable
from mooring.client.leases import Lease, find_result, look, release, renew, withdraw
from mooring.client.leasing import (
    CLOSE_SECONDS,
    LOOK_SECONDS,
    Grant,
    Options,
    SessionResult,
    Term,
    Wish,
    claim_path,
    is_final,
    judge_loss,
    make_wish,
    read_grant,
)
from mooring.client.patience import Patience
from mooring.clock import Entropy, SystemClock


class Mooring:
    """Where claims come from: an address and a token, else `MOORING_URL` and `MOORING_TOKEN`, else the state folder."""

    def __init__(self, url: str = "", token: str = "", *, state: Path | None = None) -> None:
        self._connection = Connection(find_endpoint(url, token, state))
        self._clock = SystemClock()
        self._entropy = Entropy()

    def claim(
        self,
        pool: str,
        *,
        owner: str,
        ttl: Duration = "5m",
        wait: Duration = 0,
        key: str = "",
        priority: int = 0,
        retryable: bool = False,
        payload: Mapping[str, Any] | None = None,
        on_wait: OnWait | None = None,
    ) -> Lease:
        """A lease on a worker of `pool` (`namespace/name`), asked for when its block is entered."""
        wish = make_wish(pool, owner, ttl, wait, key, Options(priority, retryable, payload))
        return Lease(self._connection, lambda: self._acquire(wish, on_wait), self._clock, self._entropy)

    def attach(self, claim_id: str) -> Lease:
        """A lease on a claim that was detached, here or elsewhere: renewed and given back as if claimed here."""
        return Lease(self._connection, lambda: self._take_up(claim_id), self._clock, self._entropy)

    def run(
        self,
        pool: str,
        *,
        owner: str,
        payload: Mapping[str, Any],
        ttl: Duration = "5m",
        wait: Duration = "5m",
        timeout: Duration = "1h",
        key: str = "",
        priority: int = 0,
        retryable: bool = False,
        on_wait: OnWait | None = None,
    ) -> SessionResult:
        """One session on a worker that polls: `payload` goes to it, its exit code and last output come back.

        The worker keeps the claim alive; when it is lost and the claim `retryable`, another one starts over.
        """
        deadline = self._clock.monotonic() + parse_seconds("timeout", timeout)
        wish = make_wish(pool, owner, ttl, wait, key, Options(priority, retryable, payload))
        grant = Asking(self._connection, wish, on_wait, self._clock, self._entropy).run()
        try:
            return self._await_result(grant, deadline)
        except BaseException:
            with contextlib.suppress(RemoteError):
                withdraw(self._connection, grant)
            raise

    def release(self, claim_id: str, epoch: int | None = None, *, reason: str = "") -> None:
        """Give a claim's worker back, with `epoch` only while the claim is under that one; without, whoever holds it:
        that is audited, and the holder is told the reason."""
        release(self._connection, claim_id, epoch, CLOSE_SECONDS, reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open between requests."""

    def _acquire(self, wish: Wish, on_wait: OnWait | None) -> tuple[Grant, Term]:
        sent_at = self._clock.monotonic()
        asking = Asking(self._connection, wish, on_wait, self._clock, self._entropy)
        grant = asking.run()
        if asking.prompt:
            return grant, Term(grant.ttl_seconds, sent_at)
        try:
            return self._confirm(grant)
        except BaseException:
            with contextlib.suppress(RemoteError):
                self.release(grant.id, grant.epoch)
            raise

    def _take_up(self, claim_id: str) -> tuple[Grant, Term]:
        return self._confirm(read_grant(self._connection.get(claim_path(claim_id))))

    def _confirm(self, grant: Grant) -> tuple[Grant, Term]:
        """When the claim began to run is not known here: a renewal tells that it is ours, and since when at least."""
        patience = Patience(self._entropy, CLOSE_SECONDS)
        while True:
            sent_at = self._clock.monotonic()
            try:
                return renew(self._connection, grant, CLOSE_SECONDS), Term(grant.ttl_seconds, sent_at)
            except Unavailable as error:
                threading.Event().wait(patience.pause_seconds(error, self._clock.monotonic()))
            except RemoteError as error:
                if not is_final(error):
                    raise
                found = look(self._connection, grant.id)
                raise judge_loss(grant.id, grant.epoch, found, self._clock.now()) from error

    def _await_result(self, grant: Grant, deadline: float) -> SessionResult:
        patience = Patience(self._entropy)
        sleeper = threading.Event()
        while True:
            try:
                if not grant.open:
                    result = find_result(self._connection, grant)
                    break
                if self._clock.monotonic() > deadline:
                    raise TimeoutError(f"claim {grant.id} had no result in time and was released")
                sleeper.wait(LOOK_SECONDS / 8)
                grant = read_grant(self._connection.get(claim_path(grant.id)))
                patience.reset()
            except Unavailable as error:
                sleeper.wait(patience.pause_seconds(error, self._clock.monotonic()))
        if result is None:
            raise judge_loss(grant.id, grant.epoch, grant, self._clock.now())
        return result
