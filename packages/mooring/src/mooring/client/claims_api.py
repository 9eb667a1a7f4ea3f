"""The claim routes of the API, as coroutines over a runtime."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar
from urllib.parse import quote

from mooring.client.errors import RemoteError, Unavailable
from mooring.client.records import ClaimView, SessionResult, read_claim, read_event, read_result
from mooring.client.retry import Deadline
from mooring.client.runtime import Runtime

T = TypeVar("T")

CLOSE_SECONDS = 5.0
RELEASE_SECONDS = 2.0  # one attempt: at a replica that hangs, it leaves time for another one
READY_SECONDS = 1.0
SILENCE_SECONDS = 10.0  # a stream has a heartbeat every three seconds
MOST_EPOCHS = 3  # to try when a claim is withdrawn while it moves between workers


def claim_path(claim_id: str) -> str:
    """Path of a claim."""
    return f"/v1/claims/{quote(claim_id, safe='')}"


async def get_claim(runtime: Runtime, claim_id: str, timeout_seconds: float = 30.0) -> ClaimView:
    """The claim as it is now."""
    return read_claim(await runtime.request("GET", claim_path(claim_id), timeout_seconds=timeout_seconds))


async def diagnose(runtime: Runtime, error: Unavailable, timeout_seconds: float = READY_SECONDS) -> Unavailable:
    """The error; if a request was not answered in time, what Mooring itself reports as the cause."""
    if not isinstance(error.__cause__, TimeoutError):
        return error
    try:
        await runtime.request("GET", "/readyz", timeout_seconds=timeout_seconds)
    except Unavailable as unready:
        if not unready.answered:
            return error
        return Unavailable(unready.status, unready.remote_code, f"Mooring is {unready.message}", unready.detail)
    except RemoteError:
        return error
    message = "Mooring is ready, but does not answer in time: its database may be slow"
    return Unavailable(503, "slow", message, {"fix": "mooring doctor"})


async def find_claim(runtime: Runtime, claim_id: str, timeout_seconds: float = CLOSE_SECONDS) -> ClaimView | None:
    """The claim as it is now; None when the server has no such claim."""
    return await _unless_missing(runtime, claim_path(claim_id), read_claim, timeout_seconds)


async def find_result(runtime: Runtime, claim: ClaimView) -> SessionResult | None:
    """What the worker of an ended claim reported, if it did."""
    if claim.state != "released":
        return None
    return await _unless_missing(runtime, f"{claim_path(claim.id)}/result", read_result, CLOSE_SECONDS)


async def renew(runtime: Runtime, claim: ClaimView, timeout_seconds: float) -> ClaimView:
    """Send one heartbeat."""
    path, body = f"{claim_path(claim.id)}/heartbeat", {"epoch": claim.epoch}
    return read_claim(await runtime.request("POST", path, body=body, timeout_seconds=timeout_seconds))


async def release(
    runtime: Runtime, claim_id: str, epoch: int | None, timeout_seconds: float, reason: str = ""
) -> ClaimView:
    """Release the claim; without an epoch it is taken from its holder, which is audited."""
    query = {"epoch": "" if epoch is None else str(epoch), "reason": reason}
    return read_claim(await runtime.request("DELETE", claim_path(claim_id), query, timeout_seconds=timeout_seconds))


async def watch(runtime: Runtime, claim_id: str) -> AsyncGenerator[ClaimView | None, None]:
    """The claim now and after each change, None with every other event; until the server ends the stream."""
    event = ""
    async with aclosing(runtime.lines(f"{claim_path(claim_id)}/stream", SILENCE_SECONDS)) as lines:
        async for line in lines:
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                yield read_claim(read_event(value)) if event == "claim" else None


async def withdraw(runtime: Runtime, claim: ClaimView, within_seconds: float = CLOSE_SECONDS) -> None:
    """Release a claim of our own that may have another epoch by now, because it was served or moved."""
    deadline = Deadline(runtime, within_seconds)
    for _ in range(MOST_EPOCHS):
        try:
            await release(runtime, claim.id, claim.epoch, deadline.left_seconds)
        except RemoteError as error:
            found = await find_claim(runtime, claim.id, deadline.left_seconds) if error.status == 409 else None
            if found is None:
                raise
            claim = found
        else:
            return


async def _unless_missing(runtime: Runtime, path: str, read: Callable[[object], T], timeout_seconds: float) -> T | None:
    try:
        return read(await runtime.request("GET", path, timeout_seconds=timeout_seconds))
    except RemoteError as error:
        if error.status == 404:
            return None
        raise
