"""One claim as a stream: for its client, which waits for a worker or must hear at once that it lost it."""

import asyncio
from collections.abc import AsyncIterator

from mooring.controllers.claims.desk import ClaimDesk
from mooring.controllers.claims.waiting_clients import WaitingClients
from mooring.model.claim import Claim, ClaimState
from mooring.model.errors import NotFound, Unavailable

HEARTBEAT_SECONDS = 3.0
REREAD_SECONDS = 30.0  # notifications wake the stream; this covers one that was lost

Heartbeat = None


class ClaimStream:
    """Follows claims for as long as their clients listen."""

    def __init__(self, desk: ClaimDesk, clients: WaitingClients) -> None:
        self._desk = desk
        self._clients = clients

    async def follow(self, claim: Claim) -> AsyncIterator[Claim | Unavailable | None]:
        """The claim at once and after each change; None as a heartbeat; the error while the ledger does not answer.

        Ends with the claim, or when this replica stops. A claim that waits is read with every heartbeat: others ahead
        of it in the queue come and go.
        """
        async with self._clients.listening(claim) as woken:
            quiet_seconds = 0.0
            yield claim
            while claim.open:
                quiet_seconds = 0.0 if await _wakes(woken) else quiet_seconds + HEARTBEAT_SECONDS
                woken.clear()
                try:
                    self._clients.check_open()
                except Unavailable:
                    return
                if quiet_seconds and claim.state is not ClaimState.QUEUED and quiet_seconds < REREAD_SECONDS:
                    yield Heartbeat
                    continue
                try:
                    found = await self._desk.look(claim.id)
                except Unavailable as error:
                    yield error
                    continue
                except NotFound:
                    return
                if found == claim and quiet_seconds < REREAD_SECONDS and found.state is not ClaimState.QUEUED:
                    yield Heartbeat
                else:
                    claim, quiet_seconds = found, 0.0
                    yield claim


async def _wakes(woken: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            await woken.wait()
    except TimeoutError:
        return False
    return True
