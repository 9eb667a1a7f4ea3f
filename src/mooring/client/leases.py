"""A lease, blocking: renewed by a thread of its own, checked by its holder, given back within bounded time."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from mooring.client.connection import Connection
from mooring.client.errors import LeaseLost, LossCause, RemoteError
from mooring.client.leasing import (
    CLOSE_SECONDS,
    MOST_EPOCHS,
    Grant,
    LeasedClaim,
    SessionResult,
    Term,
    claim_path,
    is_final,
    judge_loss,
    read_grant,
    read_result,
    release_query,
)
from mooring.client.patience import Patience
from mooring.clock import Clock, Entropy

log = logging.getLogger("mooring.client")

T = TypeVar("T")
Opening = Callable[[], tuple[Grant, Term]]


class Lease(LeasedClaim):
    """A worker for the time of a block. Everything about the claim is known once the block is entered."""

    def __init__(self, connection: Connection, opening: Opening, clock: Clock, entropy: Entropy) -> None:
        super().__init__()
        self._connection = connection
        self._opening = opening
        self._clock = clock
        self._entropy = entropy
        self._over = threading.Event()  # nothing is renewed any more: closed, detached, lost or finished

    @property
    def lost(self) -> LeaseLost | None:
        """Why the lease is lost; None while it is ours."""
        if self._lost is None and not self._over.is_set() and self._clock.monotonic() >= self._term.ends_at:
            self._lose(LeaseLost(self.id, LossCause.EXPIRED, self._clock.now(), "it could not be renewed in time"))
        return self._lost

    def check(self) -> None:
        """Raise `LeaseLost` unless the worker is still ours."""
        if (lost := self.lost) is not None:
            raise lost

    def detach(self) -> str:
        """Neither renew it from here on nor give it back: `attach` may take it up within its ttl."""
        self._over.set()
        return self.id

    def close(self) -> None:
        """Give the worker back. Never takes much longer than five seconds; the server's ttl is the safety net."""
        if self._opened is None or self.lost is not None or self._over.is_set():
            return
        self._over.set()
        self._give_back()

    def __enter__(self) -> Self:
        self._require_new()
        self._opened = self._opening()
        threading.Thread(target=self._renew_until_over, name=f"mooring-renew-{self.id}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self._lost is None or error is self._lost:
            return
        if error is None:
            raise self._lost
        error.add_note(str(self._lost))

    def _renew_until_over(self) -> None:
        while not self._over.wait(self._term.pause_seconds(self._clock.monotonic())):
            if self.lost is not None:
                return
            sent_at = self._clock.monotonic()
            try:
                renew(self._connection, self._grant, self._term.request_seconds)
            except RemoteError as error:
                self._term.failing = True
                if is_final(error):
                    self._conclude()
            else:
                self._term.renewed(sent_at)

    def _conclude(self) -> None:
        """The server says it is over: finished by its worker, or lost."""
        try:
            found = look(self._connection, self.id)
            self._result = find_result(self._connection, found) if found is not None else None
        except RemoteError:
            return  # asked again at the next renewal
        if self._result is not None:
            self._over.set()
        else:
            self._lose(judge_loss(self.id, self.epoch, found, self._clock.now()))

    def _lose(self, lost: LeaseLost) -> None:
        if not self._over.is_set():
            self._lost = lost
            self._over.set()

    def _give_back(self) -> None:
        patience = Patience(self._entropy, CLOSE_SECONDS)
        deadline = self._clock.monotonic() + CLOSE_SECONDS
        while True:
            left = max(0.1, deadline - self._clock.monotonic())
            try:
                found = release(self._connection, self.id, self.epoch, left)
            except RemoteError as error:
                if is_final(error):
                    self._lost = judge_loss(self.id, self.epoch, self._look(), self._clock.now())
                    return
                try:
                    threading.Event().wait(patience.pause_seconds(error, self._clock.monotonic()))
                except RemoteError:
                    log.warning("claim %s could not be released, its ttl will end it: %s", self.id, error.message)
                    return
            else:
                if found.state != "released":
                    self._lost = judge_loss(self.id, self.epoch, found, self._clock.now())
                return

    def _look(self) -> Grant | None:
        try:
            return look(self._connection, self.id)
        except RemoteError:
            return None


def renew(connection: Connection, grant: Grant, timeout_seconds: float) -> Grant:
    """One heartbeat."""
    body = {"epoch": grant.epoch}
    path = f"{claim_path(grant.id)}/heartbeat"
    return read_grant(connection.request("POST", path, body=body, timeout_seconds=timeout_seconds))


def release(
    connection: Connection, claim_id: str, epoch: int | None, timeout_seconds: float, reason: str = ""
) -> Grant:
    """The claim as it is after giving it back."""
    query = release_query(epoch, reason)
    return read_grant(connection.request("DELETE", claim_path(claim_id), query, timeout_seconds=timeout_seconds))


def withdraw(connection: Connection, grant: Grant) -> None:
    """Give up a claim of our own that may be under another epoch by now: it was served, or moved."""
    for _ in range(MOST_EPOCHS):
        try:
            release(connection, grant.id, grant.epoch, CLOSE_SECONDS)
        except RemoteError as error:
            if error.status != 409 or (found := look(connection, grant.id)) is None:
                raise
            grant = found
        else:
            return


def look(connection: Connection, claim_id: str) -> Grant | None:
    """The claim as it is now; None when the server knows no such claim."""
    return _unless_missing(connection, claim_path(claim_id), read_grant)


def find_result(connection: Connection, grant: Grant) -> SessionResult | None:
    """What the worker of a claim that is over reported, if it did."""
    if grant.state != "released":
        return None
    return _unless_missing(connection, f"{claim_path(grant.id)}/result", read_result)


def _unless_missing(connection: Connection, path: str, read: Callable[[dict[str, Any]], T]) -> T | None:
    try:
        return read(connection.request("GET", path, timeout_seconds=CLOSE_SECONDS))
    except RemoteError as error:
        if error.status == 404:
            return None
        raise
