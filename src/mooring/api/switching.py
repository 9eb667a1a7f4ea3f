"""The writing routes of `/v1/invariants`: the kill switches. Every flip is audited with its reason."""

from typing import Annotated, Any

import msgspec
from litestar import Request, post
from msgspec import Meta

from mooring.api.given import GivenClock, GivenEntropy, GivenLedger
from mooring.clock import Clock, Entropy
from mooring.control.switches import Switches
from mooring.ledger.port import Ledger
from mooring.ledger.records import InvariantState
from mooring.model.audit import AuditEntry, AuditOutcome, Subject
from mooring.model.errors import InvalidInput


class Flip(msgspec.Struct, frozen=True):
    """The optional body: who flips the switch, and why."""

    reason: Annotated[str, Meta(max_length=500)] = ""
    actor: Annotated[str, Meta(min_length=1, max_length=253)] = "api"


async def read_flip(request: Request[Any, Any, Any]) -> Flip:
    """The body, if there is one."""
    body = await request.body()
    try:
        return msgspec.json.decode(body, type=Flip) if body else Flip()
    except msgspec.DecodeError as error:
        raise InvalidInput(
            "body", body[:80].decode("utf-8", "replace"), f"{{reason, actor}} as JSON ({error})"
        ) from error


@post("/v1/invariants/{rule:str}/pause", tags=["invariants"], summary="Stop a rule from acting", status_code=200)
async def pause_invariant(
    request: Request[Any, Any, Any],
    rule: str,
    switches: Switches,
    ledger: GivenLedger,
    clock: GivenClock,
    entropy: GivenEntropy,
) -> InvariantState:
    """Off for all replicas, over restarts, until resumed. Body, if any: `{reason, actor}`."""
    flip = await read_flip(request)
    state = await switches.pause(rule, actor=flip.actor, reason=flip.reason)
    await _audit("pause", rule, flip, ledger, clock, entropy)
    return state


@post("/v1/invariants/{rule:str}/resume", tags=["invariants"], summary="Let a rule act again", status_code=200)
async def resume_invariant(
    request: Request[Any, Any, Any],
    rule: str,
    switches: Switches,
    ledger: GivenLedger,
    clock: GivenClock,
    entropy: GivenEntropy,
) -> InvariantState:
    """On again. Body, if any: `{reason, actor}`."""
    flip = await read_flip(request)
    state = await switches.resume(rule, actor=flip.actor)
    await _audit("resume", rule, flip, ledger, clock, entropy)
    return state


async def _audit(action: str, rule: str, flip: Flip, ledger: Ledger, clock: Clock, entropy: Entropy) -> None:
    entry = AuditEntry(
        id=entropy.uuid(),
        at=clock.now(),
        actor=flip.actor,
        replica="",
        action=action,
        subject=Subject("Invariant", "", rule),
        reason=flip.reason,
        evidence={},
    )
    await ledger.audit.record(entry, AuditOutcome.DONE)
